import Testing

@testable import DaemonConfiguration

@Suite("destinations while running, and whom their secrets may be sent to") struct DestinationLayersTests {
    private static let home = "[destination.home]\nurl = \"https://home.example/\"\n"
    private static let main = "[sync]\nurl = \"https://a.example/in\"\n"

    private func layers(_ text: String) throws -> Layers {
        let workshop = try Workshop()
        try workshop.write(text)
        return try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
    }

    @Test("one that the files have can be tuned; one that they lack cannot be made") func running() throws {
        let layers = try layers(Self.home)
        let interval = "destination.home.interval_seconds"
        let decision = try layers.decide(setting: [interval: .value(.integer(61))], over: [:])
        #expect(decision.runtime == [interval: .number(61)])
        #expect(decision.result.loaded.settings.destinations.first?.sync.intervalSeconds == 61)
        let clamped = try layers.decide(setting: [interval: .value(.integer(7))], over: [:])
        #expect(clamped.runtime == [interval: .number(60)] && clamped.notes.count == 1)
        let latest = try layers.decide(
            setting: [interval: .value(.integer(7)), "destination.home.deliver": .value(.string("latest"))],
            over: [:])
        #expect(latest.runtime[interval] == .number(7) && latest.notes.isEmpty)
        #expect(latest.result.loaded.settings.destinations.first?.sync.intervalSeconds == 7)
        // With deliver = "all" again it is too short, and the nearest counts.
        let back = try layers.decide(resetting: ["destination.home.deliver"], over: latest.runtime)
        #expect(back.result.loaded.settings.destinations.first?.sync.intervalSeconds == 60)
        for (name, word) in [
            ("destination.hoem.interval_seconds", "did you mean destination.home?"),
            ("destination.far.interval_seconds", "write a table [destination.far] with a url"),
            ("destination.far.url", "in the configuration files"), ("destination.Home.url", "1 to 32"),
            ("destination.main.url", "what [sync] is called"), ("destination.home.colour", "known here are"),
            ("destination.home", "is a table"), ("destination", "is a table"),
            ("destination.home.auth", "only a configuration file"),
            ("destination.home.username", "username_file"), ("destination.home.params.a", "{ file"),
            ("destination.home.headers.X", "{ file"), ("destination.home.auth.refresh_token", "SeedAuth"),
            ("destination.home.password_file", "only a configuration file"),
            ("destination.home.url", "needs a url"),
        ] {
            do throws(Layers.Refusal) {
                _ = try layers.decide(setting: [name: .value(.string(""))], over: [:])
                Issue.record("\(name) was accepted")
            } catch { #expect(error.key == name && error.reason.contains(word), "\(name): \(error.reason)") }
        }
    }

    @Test("what was set for one that is gone is left out, and can be taken back") func gone() throws {
        let runtime: [String: SettingValue] = [
            "destination.far.batch_size": .integer(5), "sync.batch_size": .integer(6),
        ]
        let layers = try layers(Self.home + Self.main)
        let result = layers.loaded(with: runtime)
        #expect(
            Array(result.leftOut.keys) == ["destination.far.batch_size"]
                && result.loaded.settings.sync?.batchSize == 6)
        let back = try layers.decide(resetting: ["destination.far.batch_size"], over: runtime)
        #expect(back.runtime == ["sync.batch_size": .integer(6)] && back.result.leftOut.isEmpty)
    }

    @Test("a format that the rest does not fit is refused at run time, and the rest stays") func formats()
        throws
    {
        let layers = try layers(Self.main + "batch_size = 5\n")
        #expect(throws: Layers.Refusal.self) {
            try layers.decide(setting: ["sync.format": .value(.string("osmand"))], over: [:])
        }
        let result = layers.loaded(with: [
            "sync.format": .string("osmand"), "sync.interval_seconds": .integer(99),
        ])
        #expect(
            Array(result.leftOut.keys) == ["sync.format"]
                && result.loaded.settings.sync?.intervalSeconds == 99)
        let both = try self.layers(Self.main).decide(
            setting: ["sync.format": .value(.string("osmand")), "sync.device_id": .value(.string("van1"))],
            over: [:])
        #expect(both.result.loaded.settings.sync?.format == .osmand(.init(deviceID: "van1")))
    }

    @Test("secrets of each destination belong to the host of its own url") func custody() throws {
        let layers = try layers(
            Self.main + Self.home
                + "[destination.home.headers]\nX = \"k\"\n[destination.free]\nurl = \"https://f.example/\"\n")
        func mayAdmin(_ name: String, _ value: SettingValue) throws -> Bool {
            do throws(Layers.Refusal) {
                _ = try layers.decide(setting: [name: .value(value)], over: [:])
                return true
            } catch {
                guard error.isDenied else { throw error }
                #expect(error.reason.contains("destination.home.headers.x"))
                return false
            }
        }
        for (leaf, value) in [
            ("url", SettingValue.string("https://evil.example/")), ("proxy", .string("http://evil.example")),
            ("auth.refresh_url", .string("https://evil.example/")), ("allow_insecure_http", .bool(true)),
        ] {
            #expect(try !mayAdmin("destination.home.\(leaf)", value), "\(leaf)")
            #expect(try mayAdmin("destination.free.\(leaf)", value), "\(leaf)")
            #expect(try mayAdmin("sync.\(leaf)", value), "\(leaf)")
        }
        #expect(try mayAdmin("destination.home.url", .string("https://home.example/other")))
        let url = "destination.home.url"
        let approved = try layers.decide(
            setting: [url: .value(.string("https://b.example/"))], over: [:], asRoot: true)
        #expect(approved.approved == [url + " destination.home.headers.x"])
        #expect(layers.loaded(with: approved.runtime, approved: approved.approved).leftOut.isEmpty)
        #expect(Array(layers.loaded(with: approved.runtime).leftOut.keys) == [url])
    }

    @Test("username, password and params are secrets of their host; so are main's tokens where they are used")
    func moreCustody() throws {
        let owntracks = Self.home + "format = \"owntracks\"\ndevice_id = \"a\"\n"
        let shared =
            Self.main
            + "[sync.auth]\naccess_token = \"t\"\n[destination.home]\nurl = \"https://a.example/live\"\nauth = \"main\"\n"
        for (text, isGuarded) in [
            (owntracks, false), (owntracks + "username = \"u\"\n", true),
            (owntracks + "username = \"u\"\npassword = \"p\"\n", true),
            (Self.home + "params = { a = 1 }\n", true), (shared, true),
        ] {
            let layers = try layers(text)
            let proxy = ["destination.home.proxy": ProposedValue.value(.string("http://evil.example"))]
            let isDenied: Bool
            do throws(Layers.Refusal) {
                _ = try layers.decide(setting: proxy, over: [:])
                isDenied = false
            } catch { isDenied = error.isDenied }
            #expect(isDenied == isGuarded, "\(text)")
        }
        // Main moves to another host: the destination that uses its tokens would stay behind.
        #expect(throws: Layers.Refusal.self) {
            try layers(shared).decide(
                setting: ["sync.url": .value(.string("https://b.example/"))], over: [:], asRoot: true)
        }
    }
}
