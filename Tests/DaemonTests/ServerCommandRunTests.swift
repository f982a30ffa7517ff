import Base
import DaemonConfiguration
import Linux
import Storage
import Support
import Testing
import Tracking
import Upload

@testable import Daemon

@Suite("commands of the server on their way")
struct ServerCommandRunTests {
    private let workshop: Workshop
    private let dispatcher: Dispatcher
    private let now = instant(1000)

    init() throws {
        workshop = try Workshop()
        var options = Daemon.Options { _ in nil }
        options.configuration = workshop.directory.file("beekond.toml")
        let names = Settings.Commands.Name.allCases.filter { $0 != .stop }.map { "\"\($0.rawValue)\"" }
        let text = """
            [sync]
            url = "https://a.example/"
            [sync.commands]
            enabled = true
            allow = [\(names.joined(separator: ", "))]
            settings = ["tracking.interval_seconds"]

            """
        try workshop.directory.write("beekond.toml", Array(text.utf8))
        let configurator = try Configurator(options, try StateDirectory(workshop.state))
        dispatcher = Dispatcher(hub: workshop.hub, configurator: configurator)
    }

    private final class Results {
        var all: [CommandResult] = []
    }

    private let results = Results()

    private func serve(_ name: String, _ arguments: String? = nil, of destination: DestinationName = .main)
        throws
    {
        let rest = arguments.map { ",\"arguments\":\($0)" } ?? ""
        let digest = String(repeating: "0", count: 32)
        let text = "{\"id\":\"c-1\",\"command\":\"\(name)\",\"digest\":\"\(digest)\"\(rest)}"
        let command = try #require(ServerCommand(text: text))
        dispatcher.serve(command, of: destination, batch: "b", now: now) { [results] in results.all.append($0)
        }
    }

    /// What the reader is asked for, in short.
    private func asked() -> [String] {
        workshop.hub.reader.takeAll().map { "\($0)".replacing("Daemon.ReaderCommand.", with: "") }
            .map { String($0.prefix { $0 != "(" }) }
    }

    @Test("each goes where a person's goes, and what it would show is asked about first")
    func routes() throws {
        let fence = "{\"id\":\"a\",\"latitude\":1,\"longitude\":2,\"radius_meters\":9}"
        try serve("start")
        try serve("add_geofences", "{\"geofences\":[\(fence)]}")
        try serve("remove_geofences", "{\"ids\":[\"a\"]}")
        try serve("remove_all_geofences")
        try serve("set_motion", "{\"motion\":\"moving\"}")
        try serve("locate")
        #expect(
            asked() == ["start", "ofServer", "removeGeofences", "removeGeofences", "setMotion", "ofServer"])
        #expect(results.all.isEmpty)
        try serve("sync")
        #expect(results.all.map(\.text) == ["{\"id\":\"c-1\",\"command\":\"sync\",\"ok\":true}"])
        guard case .trigger(.command)? = workshop.hub.uploaders.main.commands.takeAll().first else {
            Issue.record("nothing is sent")
            return
        }
    }

    @Test("what the files do not allow is refused, whoever checked it before; so is another destination's")
    func refused() throws {
        try serve("stop")
        try serve("start", of: try #require(DestinationName("home")))
        try serve("upload_log")
        try serve("set_config", "{\"settings\":{\"tracking.angle_degrees\":5}}")
        try serve("set_config", "{\"settings\":{\"gpsd.port\":5}}")
        try serve("set_config", "{\"settings\":{\"tracking.interval_seconds\":-5}}")
        try serve("set_config", "{\"settings\":{\"tracking.interval\":5}}")
        try serve("unset_config", "{\"keys\":[\"tracking.angle_degrees\"]}")
        for case .completed(let token, let result) in workshop.hub.main.takeAll() {
            _ = dispatcher.complete(token, result, now: now)
        }
        #expect(asked().isEmpty && workshop.hub.readerSettings.isEmpty)
        let errors = results.all.map { String($0.error?.prefix { $0 != ":" } ?? "") }
        #expect(
            errors.sorted() == [
                "invalid_setting", "not_allowed", "not_allowed", "not_allowed", "setting_not_allowed",
                "setting_not_allowed", "setting_not_allowed", "unknown_setting",
            ])
    }

    @Test("each result says what came of it")
    func outcomes() throws {
        let position = try workshop.location(0).location
        let outcomes: [(Result<Completion, CommandFailure>, String)] = [
            (.success(.location(position)), "ok\":true,\"result\":{\"location\":{"),
            (.success(.location(nil)), "no_location: no fix came in time"),
            (.failure(CommandFailure(kind: .stoppedByPerson)), "stopped_by_person\""),
            (.failure(CommandFailure(kind: .location, reason: "no device")), "no_location: no device"),
            (.failure(CommandFailure(reason: "disk")), "failed: disk"),
            (.failure(CommandFailure(kind: .busy(seconds: 1))), "too_soon"),
            (.success(.configured(overridden: ["a.b"])), "\"result\":{\"overridden\":[\"a.b\"]}"),
            (.success(.configured(overridden: [])), "\"ok\":true}"),
        ]
        for (number, (outcome, words)) in outcomes.enumerated() {
            try serve("locate")
            #expect(asked() == ["ofServer"])
            _ = dispatcher.complete(number + 1, outcome, now: now)
            #expect(results.all.last?.text.contains(words) == true, "\(results.all.last?.text ?? "")")
        }
        #expect(results.all.count == outcomes.count)
    }
}
