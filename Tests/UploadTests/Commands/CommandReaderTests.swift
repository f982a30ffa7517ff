import Base
import Testing
import Tracking

@testable import DaemonConfiguration
@testable import Envelope
@testable import Upload

@Suite("commands in the body of an answer")
struct CommandReaderTests {
    @Test("both forms, and the guide's single one")
    func forms() throws {
        let plain = try CommandSamples.commands(
            #"{"batch_id":"b","commands":[{"id":"c-17","command":"set_config","#
                + #""arguments":{"settings":{"tracking.interval_seconds":10}}},{"id":"18","command":"start"}]}"#
        )
        #expect(plain.warrant == nil)
        #expect(
            plain.commands.map(\.id) == ["c-17", "18"]
                && plain.commands.map(\.name) == ["set_config", "start"])
        #expect(
            plain.commands.map(\.request) == [
                .setConfig(["tracking.interval_seconds": .integer(10)]), .start,
            ])
        let guide = try CommandSamples.commands(
            #"{"background_geolocation":[["start"],["setConfig",{"distanceFilter":25}]]}"#)
        #expect(
            guide.commands.map(\.id) == ["\(CommandSamples.batch)/0", "\(CommandSamples.batch)/1"])
        #expect(guide.commands.map(\.name) == ["start", "set_config"])
        #expect(
            guide.commands.map(\.request) == [.start, .setConfig(["tracking.distance_meters": .number(25)])])
        let single = try CommandSamples.commands(#"{"background_geolocation":["stop"]}"#)
        #expect(single.commands.map(\.request) == [.stop])
        #expect(single.commands.map(\.id) == ["\(CommandSamples.batch)/0"])
        let withArgument = try CommandSamples.commands(#"{"background_geolocation":["changePace",true]}"#)
        #expect(withArgument.commands.map(\.request) == [.setMotion(.moving)])
    }

    @Test(
        "other answers ask for nothing, and say nothing of it",
        arguments: [
            "", "ok", "{}", "[]", "7", #"{"batch_id":"x","stored":3}"#, #"{"commands":[]}"#,
            #"{"commands":null}"#, #"{"background_geolocation":[]}"#, #"["commands"]"#, "{\"broken\":",
            #"{"result":{"commands":[{"id":"1","command":"stop"}]}}"#, #"[{"commands":[]}]"#, "\u{0}",
            #"{"a":1,"a":2}"#, String(repeating: "[", count: 60_000), "commands",
        ])
    func others(body: String) {
        #expect(CommandSamples.hear(body) == .nothing)
        let keys = CommandSamples.rules { $0.verifyKeys = [CommandSamples.Signer(seed: 1).key] }
        #expect(CommandSamples.hear(body, CommandSamples.sync("https://a.example", keys)) == .nothing)
    }

    @Test("a wrong command is refused alone; the others are read")
    func one() throws {
        let heard = try CommandSamples.commands(
            #"{"commands":[{"id":"1","command":"self_destruct"},{"id":"2","command":"set_motion"},"#
                + #"{"id":"3","command":"stop","argument":{}},{"id":"4","command":"stop"}]}"#)
        let errors = heard.commands.map { command -> CommandError.Kind? in
            if case .refused(let error) = command.content { error.kind } else { nil }
        }
        #expect(errors == [.unknownCommand, .invalidArguments, .invalidArguments, nil])
        #expect(heard.commands[0].name == "self_destruct" && heard.commands[0].text == nil)
        #expect(heard.commands[3].request == .stop)
    }

    @Test("the same content has the same digest, however it is laid out; the guide's has one as well")
    func digests() throws {
        let bodies = [
            #"{"commands":[{"id":"1","command":"stop"}]}"#,
            #"{"commands":[{"command":"stop","arguments":{},"id":"2"}]}"#,
            #"{"commands":[{"arguments":null,"id":"3","command":"st\u006fp"}]}"#,
        ]
        let digests = try bodies.map { try CommandSamples.commands($0).commands[0].digest }
        #expect(Set(digests).count == 1)
        let other = try CommandSamples.commands(#"{"commands":[{"id":"1","command":"start"}]}"#)
        #expect(other.commands[0].digest != digests[0])
        let guides = try ["stop", "start"].map {
            try CommandSamples.commands(#"{"background_geolocation":["\#($0)"]}"#).commands[0].digest
        }
        #expect(Set(guides).count == 2)
    }

    @Test("as many commands as max, as deep and as large as allowed")
    func bounds() throws {
        let list = (0..<16).map { #"{"id":"\#($0)","command":"sync"}"# }.joined(separator: ",")
        #expect(try CommandSamples.commands("{\"commands\":[\(list)]}").commands.count == 16)
        let deep = String(repeating: "[", count: 15) + String(repeating: "]", count: 15)
        let body = #"{"x":\#(deep),"commands":[{"id":"1","command":"stop"}]}"#
        #expect(try CommandSamples.commands(body).commands.count == 1)
        let padded = body + String(repeating: " ", count: 65_536 - body.utf8.count)
        #expect(try CommandSamples.commands(padded).commands.count == 1)
    }

    @Test("only ways that nobody else can write to are listened on")
    func ways() {
        let body = #"{"commands":[{"id":"1","command":"stop"}]}"#
        let heard: (Settings.Sync) -> Bool = { CommandSamples.hear(body, $0) != .nothing }
        #expect(heard(CommandSamples.sync("https://a.example/")))
        #expect(heard(CommandSamples.sync("http://127.0.0.1:8080/")))
        #expect(heard(CommandSamples.sync("http://localhost/") { $0.proxy = "http://[::1]:3128" }))
        #expect(!heard(CommandSamples.sync("http://localhost/") { $0.proxy = "http://p.example:3128" }))
        #expect(!heard(CommandSamples.sync("http://a.example/") { $0.allowInsecureHTTP = true }))
        #expect(!heard(CommandSamples.sync { $0.deliver = .latest }))
        #expect(!heard(CommandSamples.sync { $0.commands = nil }))
        #expect(
            !heard(
                CommandSamples.sync("mqtts://a.example") { sync in
                    var format = Settings.OwnTracks(deviceID: "a")
                    format.mqtt = Settings.MQTT()
                    sync.format = .owntracks(format)
                }))
    }
}

extension CommandSamples {
    /// With a change and nothing else.
    static func sync(_ url: String, _ change: (inout Settings.Sync) -> Void) -> Settings.Sync {
        sync(url, rules(), change)
    }

    static func sync(_ change: (inout Settings.Sync) -> Void) -> Settings.Sync {
        sync("https://a.example/in", rules(), change)
    }
}
