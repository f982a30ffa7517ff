import Base
import Testing
import Tracking

@testable import DaemonConfiguration
@testable import Envelope
@testable import Upload

@Suite("whether a server's command is carried out")
struct CommandJudgeTests {
    private typealias Request = ServerCommand.Request
    private static let fence = try? Geofence(id: "a", latitude: 1, longitude: 2, radius: 50)
    private static let requests: [Request] = [
        .start, .stop, .setConfig(["tracking.interval_seconds": .integer(5)]),
        .unsetConfig(["tracking.interval_seconds"]), .addGeofences([fence].compactMap(\.self)),
        .removeGeofences(["a"]),
        .removeAllGeofences, .setMotion(.moving), .sync, .locate, .uploadLog(url: nil),
    ]

    private func judge(
        _ request: Request, _ sync: Settings.Sync? = CommandSamples.sync(), while wish: Wish? = nil,
        at time: Timestamp? = nil, warrant: ServerCommand.Warrant? = nil
    ) -> CommandJudge.Verdict {
        let command = ServerCommand(
            id: "1", name: request.name.rawValue, .request(request), written: .null, warrant: warrant)
        return CommandJudge.judge(command, by: sync, while: wish, at: time)
    }

    private func error(_ verdict: CommandJudge.Verdict) -> String? {
        if case .refuse(let error) = verdict { error.text } else { nil }
    }

    @Test("each needs its own name in allow, and no other")
    func allow() {
        for request in Self.requests {
            #expect(judge(request) == .run(request))
            let alone = CommandSamples.rules { $0.allow = [request.name] }
            #expect(judge(request, CommandSamples.sync("https://a.example", alone)) == .run(request))
            let others = CommandSamples.rules { $0.allow.remove(request.name) }
            #expect(error(judge(request, CommandSamples.sync("https://a.example", others))) == "not_allowed")
            #expect(error(judge(request, CommandSamples.sync { $0.commands = nil })) != nil)
            #expect(error(judge(request, nil)) != nil)
        }
        #expect(Set(Self.requests.map(\.name)) == Set(Settings.Commands.Name.allCases))
    }

    @Test("each setting needs its name, all or nothing")
    func settings() {
        let change = { (names: [String]) in
            Request.setConfig(Dictionary(uniqueKeysWithValues: names.map { ($0, .integer(1)) }))
        }
        #expect(error(judge(change(["store.max_rows"]))) == "setting_not_allowed: store.max_rows")
        #expect(
            error(judge(change(["tracking.interval_seconds", "sync.url"]))) == "setting_not_allowed: sync.url"
        )
        #expect(error(judge(.unsetConfig(["gpsd.host"]))) == "setting_not_allowed: gpsd.host")
        #expect(error(judge(change(["tracking.colour"]))) == "unknown_setting: tracking.colour")
        #expect(judge(.unsetConfig(["extras.route"])) == .run(.unsetConfig(["extras.route"])))
        for key in Key.all where key.needsAdmin {
            #expect(error(judge(change([key.name + (key.isOpen ? ".x" : "")]))) != nil, "\(key.name)")
        }
    }

    @Test("while a person's stop holds, nothing that could tell where the vehicle is")
    func wish() {
        let stop = Wish(tracks: false, origin: .person, time: nil)
        let refused = Self.requests.filter { error(judge($0, while: stop)) == "stopped_by_person" }
        #expect(refused.map(\.name) == [.start, .addGeofences, .locate])
        for name in ["tracking.schedule", "tracking.time_zone"] {
            let rules = CommandSamples.rules { $0.settings = [name] }
            let sync = CommandSamples.sync("https://a.example", rules)
            for request in [Request.setConfig([name: .string("")]), .unsetConfig([name])] {
                #expect(error(judge(request, sync, while: stop)) == "stopped_by_person")
                #expect(judge(request, sync) == .run(request))
            }
        }
        for other in [
            nil, Wish(tracks: true, origin: .person, time: nil),
            Wish(tracks: false, origin: .server, time: nil),
            Wish(tracks: false, origin: .schedule, time: nil),
            Wish(tracks: false, origin: .ignition, time: nil),
        ] {
            for request in Self.requests { #expect(judge(request, while: other) == .run(request)) }
        }
    }

    @Test("a signed one waits for the time, and runs before its end alone")
    func expiry() {
        let warrant = ServerCommand.Warrant(counter: 1, expiresAt: CommandSamples.time)
        #expect(judge(.stop, at: nil, warrant: warrant) == .wait)
        #expect(
            judge(.stop, at: CommandSamples.time.advanced(bySeconds: -0.001), warrant: warrant) == .run(.stop)
        )
        #expect(error(judge(.stop, at: CommandSamples.time, warrant: warrant)) == "expired")
        let ahead = ServerCommand.Warrant(
            counter: CommandSamples.time.milliseconds + 86_400_000, expiresAt: CommandSamples.time)
        let before = CommandSamples.time.advanced(bySeconds: -1)
        #expect(error(judge(.stop, at: before, warrant: ahead)) == "counter_ahead")
        #expect(error(judge(.stop, at: CommandSamples.time, warrant: ahead)) == "expired")
        #expect(judge(.stop, at: nil, warrant: ahead) == .wait)
    }

    @Test("the log goes to no other place than data do")
    func log() {
        let upload = { (url: String) in Request.uploadLog(url: url) }
        for url in ["https://a.example/log", "https://a.example:443/x?y"] {
            #expect(judge(upload(url)) == .run(upload(url)))
        }
        for url in [
            "http://a.example/", "https://b.example/", "https://a.example:444/", "", "/log",
            "https://a.example@b.example/",
        ] {
            #expect(error(judge(upload(url)))?.hasPrefix("invalid_arguments: url") == true, "\(url)")
        }
    }
}
