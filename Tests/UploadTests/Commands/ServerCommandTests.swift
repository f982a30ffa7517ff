import Base
import DaemonConfiguration
import Testing
import Tracking

@testable import Envelope
@testable import Upload

@Suite("a server's commands as values")
struct ServerCommandTests {
    private func command(
        _ name: Settings.Commands.Name, _ arguments: String? = nil, id: String = "c-1"
    ) throws -> ServerCommand {
        let json = try arguments.map { try #require(JSONReader.read(Array($0.utf8))) }
        let request = try ServerCommand.Request(name, json)
        return ServerCommand(
            id: id, name: name.rawValue, .request(request),
            written: .object(["command": .string(name.rawValue), "arguments": json ?? .object([:])]))
    }

    private static let good: [(Settings.Commands.Name, String?, String?)] = [
        (.start, nil, nil), (.stop, "{}", nil), (.sync, "null", nil), (.locate, nil, nil),
        (.removeAllGeofences, nil, nil), (.uploadLog, nil, nil),
        (
            .uploadLog, #"{"url":"https://a.example/log"}"#, #"{"url":"https://a.example/log"}"#
        ),
        (.setMotion, #"{"motion":"moving"}"#, #"{"motion":"moving"}"#),
        (.setMotion, #"{"motion":"stationary"}"#, #"{"motion":"stationary"}"#),
        (.unsetConfig, #"{"keys":["tracking.schedule"]}"#, #"{"keys":["tracking.schedule"]}"#),
        (.removeGeofences, #"{"ids":["b","a\"\n"]}"#, #"{"ids":["b","a\"\u000a"]}"#),
        (
            .setConfig, #"{"settings":{"b":30.0,"a":30,"d":["x"],"c":true,"e":"t","f":1e-7}}"#,
            #"{"settings":{"a":30,"b":30.0,"c":true,"d":["x"],"e":"t","f":1e-07}}"#
        ),
        (
            .addGeofences, #"{"geofences":[{"radius_meters":50,"longitude":13,"latitude":52.5,"id":"ö"}]}"#,
            #"{"geofences":[{"id":"ö","latitude":52.5,"longitude":13.0,"notify_on_entry":true,"#
                + #""notify_on_exit":true,"radius_meters":50.0}]}"#
        ),
        (
            .addGeofences,
            #"{"geofences":[{"id":"p","polygon":[[13,52],[13.1,52],[13.1,52.1]],"notify_on_exit":false}]}"#,
            nil
        ),
        (
            .addGeofences,
            #"{"geofences":[{"id":"d","latitude":1,"longitude":2,"radius_meters":50,"dwell_seconds":900}]}"#,
            #"{"geofences":[{"dwell_seconds":900.0,"id":"d","latitude":1.0,"longitude":2.0,"notify_on_entry":true,"#
                + #""notify_on_exit":true,"radius_meters":50.0}]}"#
        ),
    ]

    @Test("what is journaled is read back as it was, and never written in two ways")
    func journal() throws {
        for (name, arguments, canonical) in Self.good {
            let made = try command(name, arguments)
            let text = try #require(made.text)
            let shown = canonical.map { #"{"arguments":\#($0),"# } ?? "{"
            if name != .addGeofences || canonical != nil {
                #expect(
                    text == shown + #""command":"\#(name.rawValue)","digest":"\#(made.digest)","id":"c-1"}"#)
            }
            let read = try #require(ServerCommand(text: text))
            #expect(read == made && read.text == text)
        }
    }

    @Test("a signed one keeps its counter and its end")
    func warrant() throws {
        let warrant = ServerCommand.Warrant(
            counter: 1_781_000_000_000, expiresAt: Timestamp(milliseconds: 1_781_000_060_000))
        let made = ServerCommand(
            id: "c", name: "stop", .request(.stop), written: .null, warrant: warrant)
        #expect(ServerCommand(text: try #require(made.text)) == made)
        let half = try #require(made.text).replacing(#""counter":1781000000000,"#, with: "")
        #expect(ServerCommand(text: half) == nil)
    }

    @Test(
        "a text that it cannot have written is none",
        arguments: [
            "", "{}", "[]", #"{"id":"a","command":"stop"}"#,
            #"{"id":"a b","command":"stop","digest":"0123456789abcdef0123456789abcdef"}"#,
            #"{"id":"a","command":"erase","digest":"0123456789abcdef0123456789abcdef"}"#,
            #"{"id":"a","command":"stop","digest":"0123"}"#,
            #"{"id":"a","command":"set_motion","digest":"0123456789abcdef0123456789abcdef"}"#,
        ])
    func damaged(text: String) {
        #expect(ServerCommand(text: text) == nil)
    }

    @Test("the digest is of the content, not of how it is laid out")
    func digest() throws {
        let one = try command(.setConfig, #"{"settings":{"a":1,"b":[]}}"#)
        #expect(try command(.setConfig, #"{ "settings": {"b":[ ],"a":1} }"#, id: "c-2").digest == one.digest)
        #expect(try command(.setConfig, #"{"settings":{"a":2,"b":[]}}"#).digest != one.digest)
        #expect(try command(.start).digest != command(.stop).digest)
        #expect(one.digest.utf8.count == 32)
    }

    @Test(
        "arguments that are missing, wrong or too many are refused by name",
        arguments: [
            (.start, #"{"now":true}"#, "invalid_arguments: argument now is not known"),
            (.start, "[]", "invalid_arguments: the arguments must be an object"),
            (
                .setConfig, nil,
                "invalid_arguments: argument settings must be an object of at least one setting"
            ),
            (
                .setConfig, #"{"settings":{}}"#,
                "invalid_arguments: argument settings must be an object of at least one setting"
            ),
            (
                .setConfig, #"{"settings":{"x":null}}"#,
                "invalid_arguments: x must be true, false, a number, a text or a list of texts"
            ),
            (
                .setConfig, #"{"settings":{"x":1e999}}"#,
                "invalid_arguments: x must be true, false, a number, a text or a list of texts"
            ),
            (
                .setConfig, #"{"settings":{"x\u202e\u0007":{}}}"#,
                "invalid_arguments: x?? must be true, false, a number, a text or a list of texts"
            ),
            (
                .unsetConfig, #"{"keys":[]}"#,
                "invalid_arguments: argument keys must be a list of at least one text"
            ),
            (.unsetConfig, #"{"keys":[1]}"#, "invalid_arguments: argument keys must be a list of texts"),
            (
                .removeGeofences, nil,
                "invalid_arguments: argument ids must be a list of at least one text"
            ),
            (
                .removeGeofences, #"{"ids":[]}"#,
                "invalid_arguments: argument ids must be a list of at least one text"
            ),
            (
                .setMotion, #"{"motion":"unknown"}"#,
                #"invalid_arguments: motion must be "moving" or "stationary""#
            ),
            (.setMotion, #"{"motion":true}"#, "invalid_arguments: argument motion must be a text"),
            (.uploadLog, #"{"url":1}"#, "invalid_arguments: argument url must be a text"),
            (
                .addGeofences, #"{"geofences":[{}]}"#,
                "invalid_geofence: geofence 1: member id must be a text"
            ),
            (
                .addGeofences, #"{"geofences":[{"id":"a","latitude":1,"longitude":2}]}"#,
                "invalid_geofence: a: give latitude, longitude and radius_meters, or a polygon"
            ),
            (
                .addGeofences, #"{"geofences":[{"id":"a","latitude":91,"longitude":2,"radius_meters":5}]}"#,
                "invalid_geofence: a: latitude must be from -90 to 90 degrees"
            ),
            (
                .addGeofences,
                #"{"geofences":[{"id":"a","latitude":1,"longitude":2,"radius_meters":5,"dwell_seconds":0}]}"#,
                "invalid_geofence: a: dwell_seconds must be more than 0 and at most 31536000, a year"
            ),
            (
                .addGeofences, #"{"geofences":[{"id":"a","polygon":[[1,"2"]]}]}"#,
                "invalid_geofence: a: polygon must be a list of [longitude, latitude]"
            ),
            (
                .addGeofences,
                #"{"geofences":[{"id":"a","latitude":1,"longitude":2,"radius_meters":5,"colour":"red"}]}"#,
                "invalid_geofence: geofence 1: member colour is not known"
            ),
        ] as [(Settings.Commands.Name, String?, String)])
    func wrong(name: Settings.Commands.Name, arguments: String?, error: String) throws {
        let json = try arguments.map { try #require(JSONReader.read(Array($0.utf8))) }
        let found = #expect(throws: CommandError.self) { _ = try ServerCommand.Request(name, json) }
        #expect(found?.text == error)
    }

    @Test("a result is written once and for all, and read back")
    func results() throws {
        let stop = try command(.stop)
        let done = CommandResult(stop)
        #expect(done.text == #"{"id":"c-1","command":"stop","ok":true}"#)
        let refused = CommandResult(stop, CommandError(.notAllowed, "say \"stop\""))
        #expect(
            refused.text
                == #"{"id":"c-1","command":"stop","ok":false,"error":"not_allowed: say \"stop\""}"#)
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: -0.125))
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        let fix = Fix(time: Timestamp(milliseconds: 1_781_000_000_000), mode: 3, coordinate: coordinate)
        let located = CommandResult(
            try command(.locate),
            location: Location(id: id, session: nil, fix: fix, trigger: .manual, motion: .unknown))
        #expect(located.text.contains(#","ok":true,"result":{"location":{"id":"0190d4e2-"#))
        let overridden = CommandResult(stop, overridden: ["b", "a"])
        #expect(
            overridden.text
                == #"{"id":"c-1","command":"stop","ok":true,"result":{"overridden":["a","b"]}}"#)
        #expect(CommandResult(stop, overridden: []) == done)
        for result in [done, refused, overridden] { #expect(CommandResult(text: result.text) == result) }
        #expect(CommandResult(text: located.text)?.id == "c-1")
        for text in ["", "{}", #"{"id":"c","command":"stop","ok":false}"#] {
            #expect(CommandResult(text: text) == nil)
        }
    }
}
