import Testing

@testable import DaemonConfiguration

@Suite("what a server hands out when a vehicle enrols")
struct ServerFormTests {
    private static let key = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAM4UGuC6QLEeEO2SN+IDNen3dGgQZAwMspIMXtA8jYEA=
        -----END PUBLIC KEY-----

        """

    private func form(
        access: String = "access.1", expires: Int64 = 1_800_000_000, heartbeat: Int? = nil,
        allow: [String]? = nil,
        settings: [String]? = nil, key: String? = nil, grant: ServerForm.Grant = .usual
    ) throws -> ServerForm {
        try ServerForm(
            device: 17, accessToken: access, expires: expires, refreshToken: "refresh_1",
            heartbeat: heartbeat,
            allow: allow, settings: settings, verifyKey: key, grant: grant)
    }

    private func address(_ text: String = "https://fleet.example.org") throws -> ServerAddress {
        try ServerAddress(text)
    }

    @Test(
        "addresses that are taken",
        arguments: [
            ("https://fleet.example.org", "https://fleet.example.org"),
            ("https://fleet.example.org:8443/beekon//", "https://fleet.example.org:8443/beekon"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"), ("http://[::1]:8080", "http://[::1]:8080"),
        ])
    func addresses(text: String, base: String) throws {
        #expect(try address(text).base == base)
    }

    @Test(
        "addresses that are refused",
        arguments: [
            "", "fleet.example.org", "http://fleet.example.org", "http://127.0.0.1.example.org",
            "mqtts://a.example",
            "https://user:pw@a.example", "https://a.example/?k=1", "https://a.example/#x",
            "https://a.example/\"",
            "https://a.example/\n[sync]", "https://a.example/$HOME", "https://a.example/'",
        ])
    func refusedAddresses(text: String) {
        #expect(throws: ServerAddress.Invalid.self) { try address(text) }
    }

    @Test("the whole file, as the daemon reads it")
    func file() throws {
        let text = try form(key: Self.key).text(
            for: address(), destination: nil, keyFile: "/etc/beekond/beekond.d/server-key.pem",
            hasCommands: true)
        #expect(
            text == """
                # Device 17 of https://fleet.example.org, written by beekonctl enroll. It holds tokens: keep it to yourself.
                [sync]
                url = "https://fleet.example.org/v1/batches"
                # This server names each batch in its answer: only that deletes it here.
                require_ack = true
                heartbeat_seconds = 3600

                [sync.auth]
                access_token = "access.1"
                expires_at = 1800000000
                refresh_token = "refresh_1"
                refresh_url = "https://fleet.example.org/v1/token"
                refresh_payload = { grant_type = "refresh_token", refresh_token = "{refreshToken}" }

                [sync.commands]
                enabled = true
                allow = ["locate", "sync", "upload_log", "set_config", "unset_config", "add_geofences", "remove_geofences", "remove_all_geofences"]
                settings = ["tracking.interval_seconds", "sync.interval_seconds"]
                verify_keys = ["/etc/beekond/beekond.d/server-key.pem"]

                """)
    }

    @Test("a further destination has tables of its own, and a table of the person's stays alone")
    func destination() throws {
        let text = try form().text(for: address(), destination: "fleet", keyFile: "/k", hasCommands: false)
        #expect(text.contains("[destination.fleet]\n") && text.contains("[destination.fleet.auth]\n"))
        #expect(!text.contains("commands]") && !text.contains("verify_keys"))
        let whole = try form().text(for: address(), destination: "fleet", keyFile: "/k", hasCommands: true)
        #expect(
            whole.contains(
                #"settings = ["tracking.interval_seconds", "destination.fleet.interval_seconds"]"#))
    }

    @Test("a server gets what it asks for, and no more than the operator gives")
    func ceiling() throws {
        let greedy = ["start", "stop", "set_motion", "locate", "reboot", "set_config"]
        #expect(try form(allow: greedy).commands == ["locate", "set_config"])
        #expect(
            try form(allow: greedy, grant: .all).commands == [
                "locate", "set_config", "start", "stop", "set_motion",
            ])
        #expect(try form(allow: greedy, grant: .none).commands.isEmpty)
        #expect(
            try form(settings: ["sync.url", "sync.interval_seconds"]).settings == ["sync.interval_seconds"])
        #expect(try !form(settings: []).commands.contains("set_config"), "it could change nothing")
        #expect(try form(allow: ["locate"]).settings.isEmpty)
        #expect(
            try form(grant: .none).text(for: address(), destination: nil, keyFile: "/k", hasCommands: true)
                .contains("[sync.commands]") == false)
    }

    @Test(
        "heartbeats are kept within what makes sense",
        arguments: [(0, 60), (-1, 60), (1800, 1800), (Int.max, 86_400)])
    func heartbeat(asked: Int, given: Int) throws {
        #expect(try form(heartbeat: asked).heartbeat == given)
    }

    @Test(
        "what would get more into the file than a token",
        arguments: ["", "a\"b", "a\\b", "a\nb", "a b", "ä", String(repeating: "a", count: 4097)])
    func tokens(token: String) {
        #expect(throws: ServerForm.Invalid.self) { try form(access: token) }
    }

    @Test("a key that is none, or a private one")
    func keys() {
        for text in ["", "key", Self.key.replacing("PUBLIC", with: "PRIVATE"), Self.key + Self.key] {
            #expect(throws: ServerForm.Invalid.self, "\(text)") { try form(key: text) }
        }
        #expect(throws: ServerForm.Invalid.self) { try form(expires: -1) }
    }
}
