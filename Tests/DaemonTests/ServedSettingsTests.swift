import ControlProtocol
import DaemonConfiguration
import Glibc
import Linux
import Support
import Testing
import Tracking

@testable import Daemon

@Suite("settings of the server, while running")
struct ServedSettingsTests {
    private let interval = "tracking.interval_seconds"
    private let distance = "tracking.distance_meters"

    private static func files(
        _ settings: String =
            "\"tracking.interval_seconds\", \"tracking.distance_meters\", \"tracking.schedule\"",
        isEnabled: Bool = true
    ) -> String {
        """
        [tracking]
        interval_seconds = 7
        [sync]
        url = "https://a.example/"
        [sync.commands]
        enabled = \(isEnabled)
        allow = ["set_config", "unset_config"]
        settings = [\(settings)]

        """
    }

    private func bench() throws -> Bench { try Bench(Self.files()) }

    private func serve(_ bench: Bench, _ settings: [String: SettingValue]) -> Token {
        bench.ask(.serve(settings.mapValues { .value($0) }))
    }

    private func origin(_ bench: Bench, _ key: String) -> String? {
        bench.configurator.loaded.listing.first { $0.key == key }?.origin.description
    }

    /// What each was answered: keys that are overridden here, or a count.
    private func answers(_ bench: Bench) -> [String] {
        bench.hub.main.takeAll().compactMap { message in
            guard case .completed(_, let result) = message else { return nil }
            switch result {
            case .success(.configured(let names)): return "overridden " + names.joined(separator: " ")
            case .success(.adopted(let removed, _)): return removed == 0 ? "done" : "\(removed)"
            case .success: return "done"
            case .failure(let failure): return "\(failure.kind)".components()
            }
        }
    }

    @Test("they are in a file of their own before they are in force, and are there after a restart")
    func layer() throws {
        let bench = try bench()
        _ = serve(bench, [interval: .integer(9), distance: .integer(50)])
        #expect(bench.interval == 7)
        try bench.read()
        #expect(bench.interval == 9 && origin(bench, interval) == "server")
        #expect(try bench.workshop.directory.names(in: "state").contains("server-settings.json"))
        #expect(RuntimeSettings(bench.directory).load() == RuntimeSettings.LoadResult())
        let other = try Configurator(bench.options, bench.directory)
        #expect(other.loaded == bench.configurator.loaded && !other.isDegraded)
        // What is set here counts more, and the server is told.
        _ = bench.set([interval: .integer(11)])
        try bench.read()
        #expect(bench.interval == 11 && origin(bench, interval) == "runtime")
        #expect(bench.configurator.overridden == [interval])
        _ = answers(bench)
        _ = serve(bench, [interval: .integer(12)])
        try bench.read()
        #expect(answers(bench) == ["overridden \(interval)"] && bench.interval == 11)
        _ = bench.ask(.reset([interval]))
        try bench.read()
        #expect(bench.interval == 12)
    }

    @Test("each side takes back its own, and somebody here also the server's")
    func reset() throws {
        let bench = try bench()
        _ = serve(bench, [interval: .integer(9), distance: .integer(50)])
        try bench.read()
        _ = bench.ask(.reset([interval]))
        try bench.read()
        #expect(bench.interval == 9, "config unset takes back what config set has set")
        _ = answers(bench)
        _ = bench.ask(.resetServed([interval, "tracking.angle_degrees"], byServer: false))
        try bench.read()
        #expect(answers(bench) == ["1"] && bench.interval == 7)
        _ = serve(bench, [interval: .integer(9)])
        try bench.read()
        _ = bench.ask(.resetServed([interval], byServer: true))
        try bench.read()
        #expect(answers(bench) == ["overridden ", "overridden "] && bench.interval == 7)
        _ = bench.ask(.resetServed(nil, byServer: false))
        try bench.read()
        #expect(answers(bench) == ["1"])
        #expect(bench.configurator.loaded.settings.tracking.distanceMeters == 100)
    }

    @Test("what the files forbid, or forbid from now on, is not in force; nothing of it is forgotten")
    func forbidden() throws {
        let bench = try bench()
        _ = serve(bench, ["tracking.angle_degrees": .integer(5), interval: .integer(9)])
        #expect(bench.given() == nil && bench.interval == 7)
        #expect(answers(bench) == ["denied"])
        _ = serve(bench, [interval: .integer(9), distance: .integer(50)])
        try bench.read()
        for (text, expected) in [
            (Self.files("\"\(distance)\""), 7.0), (Self.files(isEnabled: false), 7), (Self.files(), 9),
        ] {
            try bench.workshop.directory.write("beekond.toml", Array(text.utf8))
            _ = bench.ask(.reload)
            try bench.read()
            #expect(bench.interval == expected && !bench.configurator.isDegraded)
        }
    }

    @Test("only what could begin tracking by itself is asked about while a person's stop holds")
    func schedule() throws {
        let bench = try bench()
        _ = serve(bench, [interval: .integer(9)])
        var given = try #require(bench.given())
        #expect(given.serverRequest == .harmless)
        bench.configurator.finish(
            .failure(CommandFailure(kind: .stoppedByPerson)), bench.hub, now: instant(0))
        #expect(bench.interval == 7 && answers(bench) == ["stoppedByPerson"])
        _ = serve(bench, ["tracking.schedule": .list(["mon 07:00-08:00"])])
        given = try #require(bench.given())
        #expect(given.serverRequest == .setSchedule)
        bench.finish()
        _ = bench.ask(.resetServed(["tracking.schedule"], byServer: true))
        #expect(try #require(bench.given()).serverRequest == .setSchedule)
        bench.finish()
        // Somebody here may always.
        _ = bench.ask(.resetServed(nil, byServer: false))
        #expect(try #require(bench.given()).serverRequest == nil)
    }

    @Test(
        "a file of them that is no good is moved aside and told of; what was set here, and rows, are not concerned",
        arguments: ["", "{", "{\"version\":2,\"settings\":{}}", "\u{0}"])
    func damaged(content: String) throws {
        let bench = try bench()
        _ = bench.set([distance: .integer(5)])
        try bench.read()
        try bench.workshop.directory.write("state/server-settings.json", Array(content.utf8))
        let configurator = try Configurator(bench.options, bench.directory)
        #expect(configurator.isDegraded && configurator.loaded.settings.tracking.distanceMeters == 5)
        #expect(!configurator.loaded.settings.holdsRows && !configurator.loaded.settings.awaitsSync)
        let names = try bench.workshop.directory.names(in: "state")
        #expect(names.contains("server-settings.json.aside-1"))
        // Until the server sets some, or somebody says that there are none.
        #expect(try Configurator(bench.options, bench.directory).isDegraded)
        _ = bench.ask(.reload)
        try bench.read()
        _ = bench.set([distance: .integer(6)])
        try bench.read()
        #expect(bench.configurator.isDegraded)
        _ = bench.ask(.resetServed(nil, byServer: false))
        try bench.read()
        #expect(!bench.configurator.isDegraded)
        #expect(try !Configurator(bench.options, bench.directory).isDegraded)
    }

    @Test("a value that is no good is left out and told of, also one that the file has for an administrator")
    func leftOut() throws {
        let bench = try bench()
        let text = """
            {"version":1,"settings":{"tracking.interval_seconds":"x","tracking.distance_meters":5,"gpsd.port":5}}
            """
        try bench.workshop.directory.write("state/server-settings.json", Array(text.utf8))
        let configurator = try Configurator(bench.options, bench.directory)
        #expect(configurator.isDegraded)
        #expect(configurator.loaded.settings.tracking.distanceMeters == 5)
        #expect(
            configurator.loaded.settings.gpsd.port == 2947
                && configurator.loaded.settings.tracking.intervalSeconds == 7)
    }
}

extension String {
    /// The name of a case, without what comes with it.
    fileprivate func components() -> String { String(prefix { $0 != "(" }) }
}
