import Testing

@testable import DaemonConfiguration

@Suite("settings made while running") struct LayersTests {
    private func layers(_ text: String) throws -> Layers {
        let workshop = try Workshop()
        try workshop.write(text)
        return try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
    }

    private func refusal(
        _ offers: [String: ProposedValue], over runtime: [String: SettingValue] = [:], files: String = ""
    ) throws -> Layers.Refusal? {
        do throws(Layers.Refusal) {
            _ = try layersOrEmpty(files).decide(setting: offers, over: runtime)
            return nil
        } catch { return error }
    }

    private func layersOrEmpty(_ text: String) -> Layers {
        guard let layers = try? layers(text) else { preconditionFailure("the files of this test are bad") }
        return layers
    }

    @Test("they win over files, and say where they come from") func wins() throws {
        let layers = try layers("[tracking]\ninterval_seconds = 7\ndistance_meters = 8\n")
        let decision = try layers.decide(
            setting: ["tracking.interval_seconds": .value(.integer(9))], over: [:])
        #expect(decision.runtime == ["tracking.interval_seconds": .number(9)])
        let loaded = decision.result.loaded
        #expect(loaded.settings.tracking.intervalSeconds == 9 && loaded.settings.tracking.distanceMeters == 8)
        #expect(loaded.listing.first { $0.key == "tracking.interval_seconds" }?.origin == .runtime)
        // Taken back, the file counts again.
        let back = try layers.decide(
            resetting: ["tracking.interval_seconds", "gpsd.port"], over: decision.runtime)
        #expect(back.runtime.isEmpty && back.result.loaded.settings.tracking.intervalSeconds == 7)
        #expect(try layers.decide(resetting: [], over: decision.runtime).runtime == decision.runtime)
    }

    @Test(
        "one that is no good keeps out all, and is named with reason and remedy",
        arguments: [
            (
                "tracking.interval_second", ProposedValue.value(.integer(5)),
                "did you mean tracking.interval_seconds"
            ),
            ("tracking.interval_seconds", .value(.integer(-1)), "0 to 31536000"),
            ("tracking.interval_seconds", .value(.number(1e308)), "out of range"),
            ("tracking.interval_seconds", .value(.bool(true)), "expected a number"),
            ("tracking.interval_seconds", .value(.string("5")), "without quotes"),
            ("tracking.interval_seconds", .other("null"), "found null"),
            ("gpsd.port", .value(.bool(true)), "expected a whole number"),
            ("gpsd.port", .value(.number(2947.5)), "expected a whole number"),
            ("gpsd.port", .value(.number(1e308)), "expected a whole number"),
            ("gpsd.replay", .value(.integer(1)), "true or false"),
            ("sync.on_reject", .value(.string("dorp")), "drop"),
            ("sync.url", .value(.string("http://example.com/")), "https"),
            ("sync.url", .value(.string("not a url")), "absolute"),
            ("tracking", .other("an object"), "is a table"), ("extras", .other("an object"), "is a table"),
            ("", .value(.integer(1)), "is not a setting"),
            (String(repeating: "x", count: 60_000), .value(.integer(1)), "is not a setting"),
            ("extras.a", .value(.integer(1)), "text"), ("extras.", .value(.string("a")), "1 to 100"),
        ])
    func refused(key: String, offer: ProposedValue, word: String) throws {
        let found = try #require(
            try refusal(["tracking.distance_meters": .value(.integer(5)), key: offer]))
        #expect(found.key == key.escaped)
        #expect(found.reason.contains(word), "\(found.reason)")
    }

    @Test(
        "secrets and paths are refused, and where they belong is said",
        arguments: [
            ("sync.headers.X-Api-Key", "{ file"), ("sync.auth.refresh_payload.client_secret", "{ file"),
            ("sync.auth.refresh_headers.Authorization", "{ file"), ("sync.auth.access_token", "SeedAuth"),
            ("sync.auth.refresh_token", "refresh_token_file"),
            ("sync.auth.access_token_file", "only a configuration file"),
            ("sync.ca_file", "only a configuration file"), ("sync.client_key", "only a configuration file"),
            ("sync.client_certificate", "only a configuration file"),
        ])
    func secrets(key: String, word: String) throws {
        for offer in [ProposedValue.value(.string("hunter2")), .value(.string("")), .other("an object")] {
            let found = try #require(try refusal([key: offer]))
            #expect(found.key == key && found.reason.contains(word), "\(found)")
            #expect(!found.reason.contains("hunter2"))
        }
    }

    @Test(
        "so is a URL with a secret in it",
        arguments: [
            "https://u:hunter2@a.example/", "https://a.example/?k=hunter2", "https://a.example/#hunter2",
        ])
    func secretURL(url: String) throws {
        for key in ["sync.url", "sync.auth.refresh_url", "sync.proxy"] {
            let found = try #require(try refusal([key: .value(.string(url))]))
            #expect(found.key == key && !found.reason.contains("hunter2"))
        }
    }

    @Test("what is clamped is kept clamped, with a note") func clamped() throws {
        let decision = try layersOrEmpty("").decide(
            setting: [
                "sync.batch_size": .value(.integer(5000)), "sync.interval_seconds": .value(.number(1)),
            ],
            over: [:])
        #expect(
            decision.runtime == ["sync.batch_size": .integer(1000), "sync.interval_seconds": .number(60)])
        #expect(
            decision.notes.map { $0.prefix { $0 != ":" } } == ["sync.batch_size", "sync.interval_seconds"])
    }

    @Test("what is no good any more is left out, the rest holds, and nothing of it is forgotten")
    func leftOut() throws {
        let layers = try layers("[tracking]\ninterval_seconds = 7\n")
        let runtime: [String: SettingValue] = [
            "tracking.interval_seconds": .string("9"), "tracking.of_the_future": .integer(1),
            "store.max_rows": .integer(-1), "sync.headers.X": .string("s"),
            "sync.ca_file": .string("/dev/null"),
            "tracking.distance_meters": .integer(5),
        ]
        let result = layers.loaded(with: runtime)
        #expect(Set(result.leftOut.keys) == Set(runtime.keys).subtracting(["tracking.distance_meters"]))
        #expect(result.loaded.settings.tracking.intervalSeconds == 7)
        #expect(result.loaded.settings.tracking.distanceMeters == 5)
        // They are in nobody's way.
        let decision = try layers.decide(setting: ["gpsd.port": .value(.integer(9))], over: runtime)
        #expect(decision.runtime.count == 7 && decision.result.leftOut.count == 5)
        // And can be taken back, though nobody knows some of them.
        let back = try layers.decide(resetting: Array(runtime.keys), over: runtime)
        #expect(back.runtime.isEmpty && back.result.leftOut.isEmpty)
        #expect(throws: Layers.Refusal.self) {
            try layers.decide(resetting: ["tracking.nonsense"], over: runtime)
        }
    }

    @Test("what only shows in the whole is refused too") func conflicts() throws {
        let url = ProposedValue.value(.string("http://a.example/"))
        let flag = ProposedValue.value(.bool(true))
        let layers = layersOrEmpty("")
        let both = try layers.decide(setting: ["sync.url": url, "sync.allow_insecure_http": flag], over: [:])
        #expect(both.result.loaded.settings.sync?.url == "http://a.example/")
        #expect(throws: Layers.Refusal.self) {
            try layers.decide(resetting: ["sync.allow_insecure_http"], over: both.runtime)
        }
        #expect(throws: Layers.Refusal.self) {
            try layers.decide(setting: ["sync.allow_insecure_http": .value(.bool(false))], over: both.runtime)
        }
        // A file that goes wrong through a setting: the setting is to blame, not the file.
        let file = "[sync]\nurl = \"http://a.example/\"\nallow_insecure_http = true\n"
        let found = try #require(
            try refusal(
                ["sync.allow_insecure_http": .value(.bool(false)), "gpsd.port": .value(.integer(1))],
                files: file))
        #expect(found.key == "sync.allow_insecure_http" && found.reason.contains("beekond.toml:2"))
        // After a restart with such settings, all but the one to blame hold.
        let result = try self.layers(file).loaded(
            with: ["sync.allow_insecure_http": .bool(false), "gpsd.port": .integer(1)])
        #expect(Array(result.leftOut.keys) == ["sync.allow_insecure_http"])
        #expect(result.loaded.settings.gpsd.port == 1 && result.loaded.settings.sync != nil)
    }

    @Test("too many extras, of files and of the running daemon together, are too many") func extras() throws {
        let file = "[extras]\n" + (0..<60).map { "f\($0) = \"x\"\n" }.joined()
        let four = Dictionary(
            uniqueKeysWithValues: (0..<4).map { ("extras.a\($0)", SettingValue.string("x")) })
        #expect(try refusal(four.mapValues { .value($0) }, files: file) == nil)
        let found = try #require(
            try refusal(
                ["extras.b": .value(.string("x")), "extras.c": .value(.string("x"))], over: four, files: file)
        )
        #expect(["extras.b", "extras.c"].contains(found.key) && found.reason.contains("at most 64"))
    }

    @Test(
        "a flood is refused at once, and one that was stored leaves the daemon with as many as there may be")
    func flood() throws {
        let layers = layersOrEmpty("")
        for count in [65, 256, 4000] {
            let many = Dictionary(
                uniqueKeysWithValues: (0..<count).map { ("extras.\($0)", SettingValue.string("")) })
            #expect(throws: Layers.Refusal.self) {
                try layers.decide(setting: many.mapValues { .value($0) }, over: [:])
            }
            #expect(layers.loaded(with: many).leftOut.count == count - 64)
        }
    }

    @Test("whatever lies in the file of them, the daemon has settings", arguments: [1, 2, 3, 4, 5])
    func anything(seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        func next(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let layers = layersOrEmpty("[sync]\nurl = \"https://a.example/\"\n[tracking]\ninterval_seconds = 7\n")
        let values: [SettingValue] = [
            .bool(true), .integer(.min), .integer(0), .integer(61), .number(.infinity), .number(1e308),
            .string(""),
            .string("http://b.example/"), .string("pause"), .string("a\u{0}b"),
        ]
        let names = Key.all.map { $0.isOpen ? $0.name + ".x" : $0.name } + ["", "x", "sync", "extras.\u{1b}"]
        for _ in 0..<200 {
            var runtime: [String: SettingValue] = [:]
            for _ in 0..<next(30) { runtime[names[next(names.count)]] = values[next(values.count)] }
            let result = layers.loaded(with: runtime)
            // What is in force is good by itself.
            let kept = runtime.filter { result.leftOut[$0.key] == nil }
            #expect(
                layers.loaded(with: kept) == Layers.Result(loaded: result.loaded, leftOut: [:]),
                "seed \(seed)")
        }
    }
}
