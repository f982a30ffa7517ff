import Testing

@testable import DaemonConfiguration

@Suite("settings of the server") struct ServerLayerTests {
    private let interval = "tracking.interval_seconds"
    private let distance = "tracking.distance_meters"
    private static let rights = ServerRights(
        settings: [
            "tracking.interval_seconds", "tracking.distance_meters", "tracking.stationary_mode", "extras",
            "sync.interval_seconds", "sync.batch_size", "sync.sync_threshold",
            // Nobody may name these; a file that does is refused, and here it has no effect.
            "sync.url", "gpsd.host", "store.max_rows", "sync.headers", "log.level",
        ], heartbeat: 3600)

    private func layers(
        _ text: String = "", _ rights: ServerRights? = ServerLayerTests.rights
    ) throws -> Layers {
        let workshop = try Workshop()
        try workshop.write(text)
        var layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        layers.serverRights = rights
        return layers
    }

    private func origin(_ loaded: Loaded, _ key: String) -> Origin? {
        loaded.listing.first { $0.key == key }?.origin
    }

    private func refusal(
        _ layers: Layers, _ offers: [String: SettingValue], over server: [String: SettingValue] = [:],
        below runtime: [String: SettingValue] = [:]
    ) -> Layers.Refusal? {
        do throws(Layers.Refusal) {
            _ = try layers.decide(
                serverSetting: offers.mapValues { .value($0) }, over: server, below: runtime)
            return nil
        } catch { return error }
    }

    @Test("they lie above the files and below what was set here")
    func order() throws {
        let layers = try layers("[tracking]\ninterval_seconds = 7\ndistance_meters = 8\n")
        let decision = try layers.decide(
            serverSetting: [interval: .value(.integer(9)), distance: .value(.integer(10))], over: [:],
            below: [distance: .integer(11)])
        #expect(decision.server == [interval: .number(9), distance: .number(10)])
        #expect(decision.runtime == [distance: .integer(11)])
        let loaded = decision.result.loaded
        #expect(
            loaded.settings.tracking.intervalSeconds == 9 && loaded.settings.tracking.distanceMeters == 11)
        #expect(origin(loaded, interval) == .server && origin(loaded, distance) == .runtime)
        #expect(origin(loaded, interval)?.description == "server")
        #expect(decision.result.server.overridden == [distance])
        #expect(decision.result.server.inForce == [interval])
        // The local value taken back, the server's counts; that taken back, the file's.
        let local = try layers.decide(
            resetting: [distance], over: decision.runtime, server: decision.server)
        #expect(local.result.loaded.settings.tracking.distanceMeters == 10)
        #expect(origin(local.result.loaded, distance) == .server && local.server == decision.server)
        let back = try layers.decide(serverResetting: [distance], over: local.server, below: [:])
        #expect(back.result.loaded.settings.tracking.distanceMeters == 8)
        #expect(back.server == [interval: .number(9)])
        let all = try layers.decide(serverResetting: nil, over: back.server, below: [:])
        #expect(all.server.isEmpty && all.result.loaded.settings.tracking.intervalSeconds == 7)
    }

    @Test(
        "what it may not set is refused, whatever the list says, and with it the whole command",
        arguments: [
            ("tracking.angle_degrees", SettingValue.integer(5)), ("sync.url", .string("https://b.example/")),
            ("gpsd.host", .string("b.example")), ("store.max_rows", .integer(1)),
            ("sync.headers.X-Key", .string("x")), ("sync.timeout_seconds", .integer(5)),
            ("log.level", .string("error")), ("sync.mode", .string("manual")),
            ("destination.home.batch_size", .integer(5)),
        ])
    func denied(name: String, value: SettingValue) throws {
        let layers = try layers("[destination.home]\nurl = \"https://a.example/\"\n")
        let found = try #require(refusal(layers, [interval: .integer(5), name: value]))
        #expect(found.key == name && found.isDenied, "\(found)")
        #expect(layers.loaded(with: [:], server: [name: value]).server.withheld == [name])
    }

    @Test(
        "ranges are those of everywhere, and all or nothing holds",
        arguments: [
            ("tracking.interval_seconds", SettingValue.integer(-1), "0 to 31536000"),
            ("tracking.interval_seconds", .bool(true), "expected a number"),
            ("tracking.stationary_mode", .string("never"), "pause"),
            ("tracking.interval_second", .integer(1), "did you mean"),
            ("extras.a", .integer(1), "text"),
            ("sync.interval_seconds", .integer(3601), "heartbeat's 3600"),
            ("sync.batch_size", .integer(51), "the files' 50"),
        ])
    func ranges(name: String, value: SettingValue, words: String) throws {
        let layers = try layers("[sync]\nurl = \"https://a.example/\"\nbatch_size = 50\n")
        let found = try #require(refusal(layers, [distance: .integer(5), name: value]))
        #expect(found.key == name && found.reason.contains(words), "\(found)")
        #expect(!found.isDenied)
    }

    @Test("a vehicle without heartbeats owes a location a day while something of the server's is in force")
    func dailyLocation() throws {
        let commands =
            "[sync.commands]\nenabled = true\nallow = [\"set_config\"]\nsettings = [\"\(interval)\"]\n"
        for (format, isOwed) in [("template", true), ("beekon", false)] {
            let layers = try layers(
                "[sync]\nurl = \"https://a.example/\"\nformat = \"\(format)\"\n" + commands, nil)
            let year: [String: SettingValue] = [interval: .number(31_536_000)]
            #expect(layers.loaded(with: [:], server: year).loaded.settings.owesDailyLocation == isOwed)
            // Nothing of the server's is in force.
            #expect(!layers.loaded(with: year).loaded.settings.owesDailyLocation)
            #expect(!layers.loaded(with: year, server: year).loaded.settings.owesDailyLocation)
            #expect(
                !layers.loaded(with: [:], server: [distance: .number(1)]).loaded.settings.owesDailyLocation)
        }
    }

    @Test("at the limits that are the server's own it may set what it likes")
    func limits() throws {
        let layers = try layers("[sync]\nurl = \"https://a.example/\"\nbatch_size = 50\n")
        let decision = try layers.decide(
            serverSetting: [
                "sync.interval_seconds": .value(.integer(3600)), "sync.batch_size": .value(.integer(50)),
            ], over: [:], below: [:])
        #expect(decision.result.loaded.settings.sync?.intervalSeconds == 3600)
        // Clamped as in a file, with a note.
        let clamped = try layers.decide(
            serverSetting: ["sync.interval_seconds": .value(.integer(1))], over: [:], below: [:])
        #expect(clamped.server == ["sync.interval_seconds": .number(60)] && clamped.notes.count == 1)
        // A file that has lowered its own since: the value is left out, and told.
        let lower = try self.layers("[sync]\nurl = \"https://a.example/\"\nbatch_size = 20\n")
        let result = lower.loaded(with: [:], server: decision.server)
        #expect(result.loaded.settings.sync?.batchSize == 20)
        #expect(result.server.leftOut["sync.batch_size"]?.contains("the files' 20") == true)
        #expect(result.server.inForce == ["sync.interval_seconds"])
    }

    @Test("without the right none of them is in force, and none is forgotten")
    func withdrawn() throws {
        let server: [String: SettingValue] = [interval: .number(9), distance: .number(10)]
        let off = try layers("[tracking]\ninterval_seconds = 7\n", nil)
        #expect(off.loaded(with: [:], server: server).server.withheld == [interval, distance])
        #expect(off.loaded(with: [:], server: server).loaded.settings.tracking.intervalSeconds == 7)
        #expect(refusal(off, [interval: .integer(9)])?.isDenied == true)
        let one = try layers("", ServerRights(settings: [distance], heartbeat: 3600))
        let result = one.loaded(with: [:], server: server)
        #expect(result.server.withheld == [interval] && result.server.inForce == [distance])
        // A change by somebody here leaves them as they are.
        let local = try one.decide(setting: ["gpsd.port": .value(.integer(5))], over: [:], server: server)
        #expect(local.server == server)
        // They can be taken back here all the same, by the server only what it may set.
        #expect(try off.decide(serverResetting: [interval], over: server, below: [:]).server.count == 1)
        #expect(throws: Layers.Refusal.self) {
            try one.decide(serverResetting: [interval], over: server, below: [:], byServer: true)
        }
        #expect(
            try one.decide(serverResetting: [distance], over: server, below: [:], byServer: true).server
                == [interval: .number(9)])
        #expect(throws: Layers.Refusal.self) {
            try one.decide(serverResetting: ["tracking.nonsense"], over: server, below: [:])
        }
    }

    @Test("where the whole does not check, this layer gives way: to files, and to what is set here")
    func givesWay() throws {
        // A threshold starts uploads, which mode = "manual" leaves to people.
        let threshold = "sync.sync_threshold"
        let layers = try layers("[sync]\nurl = \"https://a.example/\"\n")
        let decision = try layers.decide(
            serverSetting: [threshold: .value(.integer(5)), interval: .value(.integer(9))], over: [:],
            below: [:])
        #expect(decision.result.loaded.settings.sync?.syncThreshold == 5)
        let local = try layers.decide(
            setting: ["sync.mode": .value(.string("manual"))], over: [:], server: decision.server)
        #expect(local.result.leftOut.isEmpty)
        #expect(Set(local.result.server.leftOut.keys) == [threshold])
        #expect(local.result.server.inForce == [interval])
        #expect(local.result.loaded.settings.sync?.syncThreshold == 0)
        let file = try self.layers("[sync]\nurl = \"https://a.example/\"\nmode = \"manual\"\n")
        let result = file.loaded(with: ["gpsd.port": .integer(5)], server: decision.server)
        #expect(result.leftOut.isEmpty && Set(result.server.leftOut.keys) == [threshold])
        #expect(result.loaded.settings.gpsd.port == 5)
        // And a command that brings it is refused.
        #expect(refusal(file, [threshold: .integer(5)])?.key == threshold)
        #expect(refusal(layers, [threshold: .integer(5)], below: ["sync.mode": .string("manual")]) != nil)
    }

    @Test("too many extras of all layers together are the server's to lose")
    func extras() throws {
        let file = "[extras]\n" + (0..<30).map { "f\($0) = \"x\"\n" }.joined()
        let layers = try layers(file)
        let local = Dictionary(
            uniqueKeysWithValues: (0..<30).map { ("extras.l\($0)", SettingValue.string("x")) })
        let server = Dictionary(
            uniqueKeysWithValues: (0..<10).map { ("extras.s\($0)", SettingValue.string("x")) })
        let result = layers.loaded(with: local, server: server)
        #expect(result.leftOut.isEmpty && result.server.inForce.count == 4)
        #expect(refusal(layers, server, below: local) != nil)
        #expect(refusal(layers, ["extras.s1": .string("x")], below: local) == nil)
    }

    @Test("whatever lies in both files of them, what was set here is as without the server", arguments: 1...5)
    func anything(seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let layers = try layers("[sync]\nurl = \"https://a.example/\"\n[tracking]\ninterval_seconds = 7\n")
        let values: [SettingValue] = [
            .bool(true), .integer(.min), .integer(0), .integer(61), .number(.infinity), .number(1e308),
            .string(""), .string("http://b.example/"), .string("pause"), .string("manual"), .list(["a"]),
        ]
        let names = Key.all.map { $0.isOpen ? $0.name + ".x" : $0.name } + ["", "x", "sync", "extras.\u{1b}"]
        for _ in 0..<200 {
            var runtime: [String: SettingValue] = [:]
            var server: [String: SettingValue] = [:]
            for _ in 0..<next(20) { runtime[names[next(names.count)]] = values[next(values.count)] }
            for _ in 0..<next(20) { server[names[next(names.count)]] = values[next(values.count)] }
            let alone = layers.loaded(with: runtime)
            let result = layers.loaded(with: runtime, server: server)
            #expect(result.leftOut == alone.leftOut)
            let part = result.server
            #expect(
                part.inForce.union(part.overridden).union(part.withheld).union(part.leftOut.keys)
                    == Set(server.keys), "seed \(seed)")
            let changed = zip(alone.loaded.listing, result.loaded.listing).filter { $0 != $1 }.map(\.1)
            if alone.loaded.listing.count == result.loaded.listing.count {
                #expect(changed.allSatisfy { $0.origin == .server }, "seed \(seed)")
            }
        }
    }
}
