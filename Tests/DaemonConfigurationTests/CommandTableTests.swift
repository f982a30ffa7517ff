import Testing

@testable import DaemonConfiguration

@Suite("what a server may do") struct CommandTableTests {
    private static let url = "[sync]\nurl = \"https://a.example/in\"\n"
    private static let table = url + "[sync.commands]\nenabled = true\n"

    /// The public half of RFC 8032's first example.
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
        -----END PUBLIC KEY-----

        """

    private func problem(_ text: String) throws -> String? {
        let problems = try Workshop().problems(text)
        #expect(problems.count == 1, "\(problems)")
        return problems.first.map { "\($0.line) \($0.key ?? "") \($0.message)" }
    }

    @Test("off by itself, and then nothing is read") func off() throws {
        #expect(try Workshop().load(Self.url).settings.sync?.commands == nil)
        let allowed = Self.url + "[sync.commands]\nallow = [\"start\"]\nsettings = [\"extras\"]\n"
        #expect(try Workshop().load(allowed).settings.sync?.commands == nil)
    }

    @Test("what is allowed is as it was written, for any destination") func on() throws {
        let text =
            Self.table
            + "allow = [\"start\", \"set_config\", \"unset_config\"]\nmax = 3\n"
            + "settings = [\"tracking.interval_seconds\", \"sync.batch_size\", \"extras\", \"extras.a\"]\n"
        let commands = try #require(try Workshop().load(text).settings.sync?.commands)
        #expect(commands.allow == [.start, .setConfig, .unsetConfig] && commands.max == 3)
        #expect(commands.verifyKeys.isEmpty)
        for name in ["tracking.interval_seconds", "sync.batch_size", "extras.b"] {
            #expect(commands.mayChange(name))
        }
        for name in ["tracking", "tracking.schedule", "sync.sync_threshold", "", "destination.a.batch_size"] {
            #expect(!commands.mayChange(name), "\(name)")
        }
        let fleet = text.replacing("[sync", with: "[destination.fleet").replacing(
            "\"sync.batch_size", with: "\"destination.fleet.batch_size")
        let settings = try Workshop().load(fleet).settings
        #expect(settings.sync == nil && settings.destinations.first?.sync.commands?.allow == commands.allow)
    }

    @Test("no more than a member of the group may change, and of a destination three of its own")
    func rights() throws {
        for key in Key.all {
            let name = key.isOpen ? key.name + ".x" : key.name
            let mayBe =
                name.hasPrefix("tracking.") || name.hasPrefix("extras.")
                || Rules.serverRows.contains(name)
            #expect((Rules.serverSetting(name) == nil) == mayBe || name.hasPrefix("vehicle."), "\(name)")
            if key.needsAdmin { #expect(Rules.serverSetting(name) != nil, "\(name)") }
        }
        #expect(Rules.serverSetting("extras") == nil)
        #expect(Rules.serverSetting("destination.a.interval_seconds") == nil)
        for name in [
            "", "tracking", "sync", "store", "tracking.colour", "destination.a.url", "sync.commands.allow",
        ] {
            #expect(Rules.serverSetting(name) != nil, "\(name)")
        }
    }

    @Test(
        "what would let it do harm is an error with its line",
        arguments: [
            ("", "4 sync.commands.enabled nothing is allowed"),
            ("allow = []\n", "4 sync.commands.enabled nothing is allowed"),
            (
                "allow = [\"erase\"]\n",
                "5 sync.commands.allow \"erase\" is not a command of a server; use start, stop"
            ),
            ("allow = [\"set_confg\"]\n", "did you mean \"set_config\"?"),
            ("allow = [\"set_config\"]\n", "5 sync.commands.allow set_config can change nothing"),
            (
                "allow = [\"start\"]\nsettings = [\"extras\"]\n",
                "6 sync.commands.settings is about set_config and unset_config"
            ),
            (
                "allow = [\"set_config\"]\nsettings = [\"store.max_rows\"]\n",
                "6 sync.commands.settings \"store.max_rows\" can be changed by administrators alone"
            ),
            (
                "allow = [\"set_config\"]\nsettings = [\"sync.url\"]\n",
                "\"sync.url\" can be changed by administrators alone"
            ),
            (
                "allow = [\"set_config\"]\nsettings = [\"destination.b.batch_size\"]\n",
                "6 sync.commands.settings “destination.b.batch_size” is a setting of another destination; use "
                    + "sync.batch_size"
            ),
            ("allow = [\"stop\"]\nmax = 65\n", "6 sync.commands.max 65 is out of range"),
            ("allow = [\"stop\"]\nmax = 0\n", "6 sync.commands.max 0 is out of range"),
            (
                "allow = [\"stop\"]\nverify_keys = [\"key.pem\"]\n",
                "6 sync.commands.verify_keys \"key.pem\" must be an absolute path"
            ),
            (
                "allow = [\"stop\"]\nverify_keys = [\"/nowhere\"]\n",
                "\"/nowhere\" cannot be opened: No such file or directory"
            ),
            (
                "allow = [\"stop\"]\nverify_keys = [\"/etc/passwd\"]\n",
                "\"/etc/passwd\" is not a PEM file with one public key"
            ),
        ])
    func refused(lines: String, message: String) throws {
        let found = try #require(try problem(Self.table + lines))
        #expect(found.contains(message), "\(found)")
    }

    @Test(
        "only where nobody else can write the answers, and where answers bring commands at all",
        arguments: [
            ("url = \"http://a.example\"\nallow_insecure_http = true", "use https"),
            (
                "url = \"http://localhost\"\nproxy = \"http://p.example:1\"",
                "could command this vehicle, because"
            ),
            ("url = \"https://a.example\"\ndeliver = \"latest\"", "are not read for commands"),
            (
                "url = \"https://a.example\"\nmode = \"manual\"",
                "there is no answer that could bring a command"
            ),
            (
                "url = \"https://a.example\"\nformat = \"osmand\"\ndevice_id = \"a\"",
                "a setting of the formats beekon, template"
            ),
            (
                "url = \"https://a.example\"\nformat = \"overland\"\ndevice_id = \"a\"",
                "a setting of the formats beekon, template"
            ),
            (
                "url = \"mqtts://a.example\"\nformat = \"owntracks\"\ndevice_id = \"a\"",
                "a setting of the formats beekon, template"
            ),
            (
                "url = \"https://a.example\"\nformat = \"template\"",
                "stop could silence this vehicle for good: format template has no heartbeat"
            ),
        ])
    func ways(sync: String, message: String) throws {
        for table in ["sync", "destination.a"] {
            let text = "[\(table)]\n\(sync)\n[\(table).commands]\nenabled = true\nallow = [\"stop\"]\n"
            let problems = try Workshop().problems(text)
            #expect(problems.contains { $0.message.contains(message) && $0.line > 3 }, "\(problems)")
        }
    }

    @Test("this host needs no TLS, and template may hear what cannot silence it") func good() throws {
        for sync in [
            "url = \"http://127.0.0.1:8080/\"", "url = \"http://localhost/\"\nproxy = \"http://[::1]:3128\"",
            "url = \"https://a.example\"\nproxy = \"http://p.example:1\"",
        ] {
            let text = "[sync]\n\(sync)\n[sync.commands]\nenabled = true\nallow = [\"stop\"]\n"
            #expect(try Workshop().load(text).settings.sync?.commands?.allow == [.stop])
        }
        let template =
            "[sync]\nurl = \"https://a.example\"\nformat = \"template\"\n[sync.commands]\nenabled = true\n"
            + "allow = [\"start\", \"locate\"]\n"
        #expect(try Workshop().load(template).settings.sync?.commands?.allow == [.start, .locate])
    }

    @Test("a vehicle obeys one server") func one() throws {
        let second =
            "allow = [\"stop\"]\n[destination.b]\nurl = \"https://b.example\"\n[destination.b.commands]\nenabled = true\n"
            + "allow = [\"stop\"]\n"
        #expect(
            try problem(Self.table + second)
                == "9 destination.b.commands.enabled [sync.commands] is enabled, too, and a vehicle obeys one server; remove "
                + "one of the two")
        let off = second.replacing("enabled = true", with: "enabled = false")
        #expect(try Workshop().load(Self.table + off).settings.sync?.commands != nil)
    }

    @Test("nobody sets any of it over the socket") func filesOnly() throws {
        for key in Key.commands {
            let value: SettingValue =
                switch key.kind {
                case .flag: .bool(true)
                case .integer: .integer(1)
                default: .list([])
                }
            for name in [key.name, "destination.a" + key.name.dropFirst("sync".count)] {
                #expect(Key.needsAdmin(name))
                let problems = try Workshop().problems(
                    Self.url + "[destination.a]\nurl = \"https://b.example\"\n", runtime: [name: value])
                #expect(
                    problems.map(\.message) == [
                        "decides what a server may do; only a configuration file can do that"
                    ], "\(name)")
            }
        }
    }

    @Test("keys are read from PEM files, and a private one is refused") func keys() throws {
        let workshop = try Workshop()
        try workshop.write(Self.pem, to: "one.pem", mode: 0o644)
        try workshop.write(
            Self.pem.replacing("\n", with: "\r\n") + "text after it\n", to: "two.pem", mode: 0o666)
        let text =
            Self.table
            + "allow = [\"stop\"]\nverify_keys = [\"\(workshop.folder)/one.pem\", \"\(workshop.folder)/two.pem\"]\n"
        let loaded = try workshop.load(text)
        let keys = try #require(loaded.settings.sync?.commands?.verifyKeys)
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0].bytes.prefix(2) == [0xD7, 0x5A])
        #expect(
            loaded.warnings.count == 1
                && loaded.warnings[0].contains("two.pem: everybody can change this key"))
        for (content, message) in [
            (Self.pem.replacing("PUBLIC", with: "PRIVATE"), "holds a private key"),
            (Self.pem + Self.pem, "is not a PEM file with one public key"),
            (Self.pem.replacing("MCowBQYDK2Vw", with: "MCowBQYDK2Vu"), "holds no Ed25519 key"),
            (Self.pem.replacing("HURo=", with: "HURo"), "holds no Ed25519 key"),
            ("", "is not a PEM file"), (String(repeating: "x", count: 5000), "is larger than 4096 bytes"),
        ] {
            try workshop.write(content, to: "one.pem")
            let problems = workshop.problems(text)
            #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
            #expect(problems[0].key == "sync.commands.verify_keys" && problems[0].line == 6)
        }
    }

    @Test("a url that is set over the socket, and would open the way, is not used") func laterURL() throws {
        let workshop = try Workshop()
        try workshop.write(Self.table + "allow = [\"stop\"]\n")
        let layers = try Loader.layers(file: workshop.file, isDefaultPath: false, places: workshop.places)
        for runtime in [
            ["sync.url": SettingValue.string("http://b.example"), "sync.allow_insecure_http": .bool(true)],
            ["sync.mode": .string("manual")], ["sync.deliver": .string("latest")],
        ] {
            let result = layers.loaded(with: runtime)
            #expect(!result.leftOut.isEmpty)
            #expect(result.loaded.settings.sync?.url == "https://a.example/in")
            #expect(result.loaded.settings.sync?.commands?.allow == [.stop])
        }
    }
}
