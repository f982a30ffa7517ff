import Testing

@testable import DaemonConfiguration

@Suite("whom the secrets of the files may be sent to") struct CustodyTests {
    private static let url = "sync.url"
    private static let refresh = "sync.auth.refresh_url"
    private static let home = "https://api.example.com/locations"
    private static let plain = "[sync]\nurl = \"\(home)\"\n"
    /// With every kind of secret a header will do: they are told apart below.
    private static let guarded = plain + "[sync.headers]\nX-Api-Key = \"k\"\n"

    private func layers(_ text: String) throws -> Layers {
        let workshop = try Workshop()
        try workshop.write("k", to: "key.pem")
        try workshop.write(
            text.split(separator: "@KEY@", omittingEmptySubsequences: false)
                .joined(separator: workshop.folder + "/key.pem"))
        return try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
    }

    /// Whether an administrator who is not root may set this.
    private func mayAdmin(_ settings: [String: SettingValue], _ layers: Layers) throws -> Bool {
        do throws(Layers.Refusal) {
            _ = try layers.decide(setting: settings.mapValues { .value($0) }, over: [:])
            return true
        } catch {
            guard error.isDenied else { throw error }
            #expect(settings[error.key] != nil && error.reason.contains("only root"))
            return false
        }
    }

    @Test(
        "another host is another place, however the same one is written",
        arguments: [
            ("https://api.example.com/elsewhere", true), ("HTTPS://API.Example.COM/", true),
            ("https://api.example.com:443/", true), ("https://api.example.com:0443/", true),
            ("https://api.example.com./", true), ("", true),
            ("https://evil.example/locations", false), ("https://api.example.com.evil.example/", false),
            ("https://evil.example/https://api.example.com/", false),
            ("https://api.example.com:8443/", false),
            ("https://example.com/", false), ("https://api.example.com../", false),
            ("https://xapi.example.com/", false), ("https://api-example.com/", false),
            ("http://localhost/", false), ("https://127.0.0.1/", false), ("https://[::1]/", false),
        ])
    func hosts(url: String, isAllowed: Bool) throws {
        let layers = try layers(Self.guarded)
        #expect(try mayAdmin([Self.url: .string(url)], layers) == isAllowed)
        // Without secrets it is the administrator's to say.
        #expect(try mayAdmin([Self.url: .string(url)], self.layers(Self.plain)))
    }

    @Test(
        "addresses have one spelling, and the user info of the files is no part of the place",
        arguments: [
            ("https://[2001:DB8:0:0::1]/", "https://[2001:db8::1]:443/a", true),
            ("https://[2001:db8::1]/", "https://[2001:db8::2]/", false),
            ("https://[::ffff:192.0.2.1]/", "https://[::ffff:c000:201]/", true),
            ("https://192.0.2.1/", "https://3221225985/", false),
            ("https://u:p@a.example/?k=1", "https://a.example/", true),
            ("https://a.example@b.example/", "https://a.example/", false),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/x", true),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8081/", false),
            ("http://127.0.0.1/", "https://127.0.0.1/", false),
        ])
    func spelling(file: String, runtime: String, isAllowed: Bool) throws {
        let layers = try layers("[sync]\nurl = \"\(file)\"\n[sync.headers]\nX = \"k\"\n")
        #expect(try mayAdmin([Self.url: .string(runtime)], layers) == isAllowed)
    }

    @Test(
        "every kind of secret counts, and what is none does not",
        arguments: [
            ("[sync.headers]\nX = \"k\"\n", true),
            ("[sync.auth]\naccess_token = \"k\"\n", true), ("[sync.auth]\nrefresh_token = \"k\"\n", true),
            ("[sync.auth.refresh_payload]\nclient_secret = \"k\"\n", true),
            ("[sync.auth.refresh_headers]\nX = \"k\"\n", true),
            ("client_certificate = \"@KEY@\"\nclient_key = \"@KEY@\"\n", true),
            ("[sync.headers]\nX = { file = \"key.pem\" }\n", true),
            ("", false), ("client_certificate = \"@KEY@\"\n", false), ("[sync.headers]\n", false),
            ("[sync.auth]\nrefresh_url = \"https://token.example.com/\"\n", false),
        ])
    func secrets(text: String, isGuarded: Bool) throws {
        let layers = try layers(Self.plain + text)
        for name in [Self.url, Self.refresh] {
            let settings = [name: SettingValue.string("https://evil.example/")]
            #expect(try mayAdmin(settings, layers) != isGuarded, "\(name)")
        }
    }

    @Test(
        "whatever leads or exposes them counts, alone and among others",
        arguments: [
            ([refresh: .string("https://evil.example/token")], false),
            ([refresh: .string("https://api.example.com/token")], false),
            ([refresh: .string("https://token.example.com/other")], true), ([refresh: .string("")], true),
            (["sync.proxy": .string("http://evil.example:3128")], false),
            (["sync.proxy": .string("http://PROXY.example.com:1080")], true),
            (["sync.proxy": .string("http://proxy.example.com:80")], false),
            (["sync.proxy": .string("socks5://proxy.example.com")], false),
            (["sync.proxy": .string("")], true),
            (["sync.allow_insecure_http": .bool(true)], false),
            (["sync.allow_insecure_http": .bool(false)], true),
            (
                [
                    "sync.allow_insecure_http": .bool(true), url: .string("http://api.example.com/locations"),
                ], false
            ),
            (["tracking.interval_seconds": .integer(9), refresh: .string("https://evil.example/")], false),
            ([url: .string(home), refresh: .string("https://evil.example/")], false),
            (["sync.timeout_seconds": .integer(9), "sync.platform": .string("van")], true),
        ] as [([String: SettingValue], Bool)])
    func ways(settings: [String: SettingValue], isAllowed: Bool) throws {
        let text = """
            [sync]
            url = "\(Self.home)"
            proxy = "http://proxy.example.com"
            [sync.auth]
            refresh_url = "https://token.example.com/token"
            [sync.auth.refresh_payload]
            client_secret = "k"
            """
        #expect(try mayAdmin(settings, layers(text)) == isAllowed)
    }

    @Test(
        "user info and query of the files' own URLs are theirs on the way, and go with the URL",
        arguments: [
            ("url = \"https://u:p@api.example.com/\"\n", false),
            ("url = \"https://a.example/?k=1\"\n", false),
            ("url = \"http://a.example/?k=1\"\nallow_insecure_http = true\n", false),
            ("url = \"https://a.example/a\"\n", true), ("url = \"\"\n", true), ("", true),
            (
                "url = \"https://a.example/\"\n[sync.auth]\nrefresh_url = \"https://u:p@b.example/\"\n",
                false
            ),
            ("url = \"https://a.example/\"\nproxy = \"http://u:p@proxy.example/\"\n", true),
        ])
    func secretsInURLs(text: String, isAllowed: Bool) throws {
        let layers = try layers("[sync]\n" + text)
        var ways: [String: SettingValue] = ["sync.proxy": .string("http://evil.example:3128")]
        if !text.contains("allow_insecure_http") { ways["sync.allow_insecure_http"] = .bool(true) }
        for (name, value) in ways { #expect(try mayAdmin([name: value], layers) == isAllowed, "\(name)") }
        for name in [Self.url, Self.refresh] {
            #expect(try mayAdmin([name: .string("https://elsewhere.example/")], layers), "\(name)")
        }
    }

    @Test("every key that names a host or a way is one of them") func everyKey() {
        let leading = Key.all.filter(\.leadsSecrets).map(\.name)
        #expect(Set(leading).isSuperset(of: Key.all.filter(\.isAddress).map(\.name)))
        #expect(
            Set(leading) == [
                "sync.url", "sync.auth.refresh_url", "sync.proxy", "sync.ca_file", "sync.allow_insecure_http",
            ])
        for key in Key.all where key.leadsSecrets { #expect(key.needsAdmin, "\(key.name)") }
    }

    @Test("what root has set holds, over restarts, for the place and until it is set again") func approval()
        throws
    {
        let layers = try layers(Self.guarded)
        func set(_ url: String, _ before: Layers.Decision?, asRoot: Bool) throws -> Layers.Decision {
            try layers.decide(
                setting: [Self.url: .value(.string(url))], over: before?.runtime ?? [:],
                approved: before?.approved ?? [], asRoot: asRoot)
        }
        let there = try set("https://b.example/", nil, asRoot: true)
        let approval = [Self.url + " sync.headers.x-api-key"]
        #expect(
            there.approved == Set(approval) && there.result.loaded.settings.sync?.url == "https://b.example/")
        // As after a restart.
        let result = layers.loaded(with: there.runtime, approved: there.approved)
        #expect(result.leftOut.isEmpty && result.loaded.settings.sync?.url == "https://b.example/")
        // An administrator may go on from there, on the same host, and back.
        let path = try set("https://b.example/v2", there, asRoot: false)
        #expect(path.approved == Set(approval))
        #expect(throws: Layers.Refusal.self) { try set("https://c.example/", path, asRoot: false) }
        let back = try set(Self.home, path, asRoot: false)
        #expect(back.approved.isEmpty)
        #expect(throws: Layers.Refusal.self) { try set("https://b.example/", back, asRoot: false) }
        let reset = try layers.decide(
            resetting: [Self.url], over: path.runtime, approved: path.approved)
        #expect(reset.approved.isEmpty && reset.result.loaded.settings.sync?.url == Self.home)
        #expect(throws: Layers.Refusal.self) { try set("https://b.example/", reset, asRoot: false) }
        // Another setting changes nothing about it.
        let other = try layers.decide(
            setting: ["tracking.interval_seconds": .value(.integer(9))], over: path.runtime,
            approved: path.approved)
        #expect(other.approved == Set(approval))
    }

    @Test("root approves the secrets that there are, and none that come later") func laterSecrets() throws {
        let elsewhere = [Self.url: ProposedValue.value(.string("https://b.example/"))]
        let early = try layers(Self.plain).decide(setting: elsewhere, over: [:], asRoot: true)
        #expect(early.approved.isEmpty && early.result.leftOut.isEmpty)
        let more = try layers(Self.guarded + "[sync.auth]\naccess_token = \"k\"\n")
        #expect(more.loaded(with: early.runtime, approved: early.approved).leftOut[Self.url] != nil)
        let one = try layers(Self.guarded).decide(setting: elsewhere, over: [:], asRoot: true)
        let found = more.loaded(with: one.runtime, approved: one.approved)
        #expect(found.leftOut[Self.url]?.contains("sync.auth.access_token)") == true)
        #expect(found.loaded.settings.sync?.url == Self.home)
        // The same again, by root: both.
        let both = try more.decide(
            setting: elsewhere, over: one.runtime, approved: one.approved, asRoot: true)
        #expect(both.approved.count == 2 && both.result.leftOut.isEmpty)
        // A secret that goes takes nothing with it.
        #expect(try layers(Self.guarded).loaded(with: both.runtime, approved: both.approved).leftOut.isEmpty)
    }

    @Test("one that nobody has approved is not used, and says why; the rest holds") func withheld() throws {
        let runtime: [String: SettingValue] = [
            Self.url: .string("https://b.example/"), Self.refresh: .string("https://b.example/token"),
            "sync.proxy": .string("http://b.example"), "sync.allow_insecure_http": .bool(true),
            "sync.batch_size": .integer(5), "tracking.interval_seconds": .integer(9),
        ]
        let result = try layers(Self.guarded).loaded(with: runtime)
        #expect(
            Set(result.leftOut.keys) == [Self.url, Self.refresh, "sync.proxy", "sync.allow_insecure_http"])
        #expect(result.leftOut[Self.url]?.contains("sync.headers.x-api-key") == true)
        let sync = try #require(result.loaded.settings.sync)
        #expect(sync.url == Self.home && sync.batchSize == 5 && sync.proxy == nil && !sync.allowInsecureHTTP)
        #expect(sync.auth?.refreshURL == nil && !result.loaded.settings.awaitsSync)
        // It is in nobody's way, comes into force when root says so, and can be taken back by an administrator.
        let layers = try layers(Self.guarded)
        let other = try layers.decide(
            setting: ["tracking.interval_seconds": .value(.integer(8))], over: runtime)
        #expect(other.result.leftOut.count == 4)
        let approved = try layers.decide(
            setting: [Self.url: .value(.string("https://b.example/"))], over: runtime, asRoot: true)
        #expect(approved.result.loaded.settings.sync?.url == "https://b.example/")
        #expect(try layers.decide(resetting: Array(runtime.keys), over: runtime).result.leftOut.isEmpty)
    }

    @Test("files with secrets and no URL belong to no host, and what is stored waits") func noURL() throws {
        let layers = try layers("[sync.headers]\nX = \"k\"\n")
        #expect(try !mayAdmin([Self.url: .string("https://b.example/")], layers))
        let result = layers.loaded(with: [Self.url: .string("https://b.example/")])
        #expect(result.loaded.settings.sync == nil && result.loaded.settings.awaitsSync)
        #expect(!layers.loaded(with: [:]).loaded.settings.awaitsSync)
    }
}
