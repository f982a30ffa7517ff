import Testing

@testable import DaemonConfiguration

@Suite("destinations") struct DestinationTests {
    private static let home = "[destination.home]\nurl = \"https://home.example/\"\n"
    private static let main = "[sync]\nurl = \"https://a.example/in\"\n"

    @Test("each stands for itself, and nothing is taken from another") func independence() throws {
        let settings = try Workshop().load(
            """
            \(Self.main)interval_seconds = 61
            client_certificate = "/etc/hostname"
            [sync.headers]
            X = "main"
            [sync.auth]
            access_token = "main"
            [sync.params]
            p = 1
            [destination.b]
            url = "https://b.example/"
            interval_seconds = 62
            headers = { X = "b" }
            auth = { access_token = "b", refresh_url = "https://t.example/", response_mapping = { access_token = "x.y" } }
            [destination.a_1-2]
            url = "https://c.example/"
            """
        ).settings
        #expect(settings.allDestinations.map(\.name) == ["main", "a_1-2", "b"])
        #expect(settings.destinations.map(\.name) == ["a_1-2", "b"])
        let (plain, own) = (settings.destinations[0], settings.destinations[1])
        var expected = Settings.Sync()
        expected.url = "https://c.example/"
        #expect(plain == .init(name: "a_1-2", sync: expected))
        #expect(own.sync.intervalSeconds == 62 && own.sync.headers == [.init(name: "X", value: Secret("b"))])
        #expect(
            own.sync.auth?.accessToken == Secret("b") && own.sync.auth?.responseMapping.accessToken == "x.y")
        #expect(settings.sync?.intervalSeconds == 61 && settings.sync?.auth?.accessToken == Secret("main"))
        #expect(settings.sync?.auth?.refreshURL == nil && !own.sharesMainTokens)
    }

    @Test("without [sync] there are still destinations, and none without any table") func withoutMain() throws
    {
        let loaded = try Workshop().load(Self.home)
        #expect(loaded.settings.sync == nil && loaded.settings.allDestinations.map(\.name) == ["home"])
        #expect(loaded.warnings.isEmpty)
        #expect(try Workshop().load("[destination]\n").settings == Settings())
        #expect(try Workshop().load("").settings.allDestinations.isEmpty)
    }

    @Test("every key of [sync] is one of each destination, with the same default, range, rights and custody")
    func sameKeys() throws {
        let own = Key.all(of: "home")
        let shared = Key.all.filter { $0.name.hasPrefix("sync.") }
        #expect(Set(own.map(\.row)) == Set(shared.map(\.name) + ["sync.auth"]))
        for key in own where key.row != "sync.auth" {
            let twin = try #require(shared.first { $0.name == key.row })
            #expect(key.name == "destination.home" + twin.name.dropFirst("sync".count))
            #expect(key.owner == "home" && twin.owner == "main")
            #expect(key.defaultValue == twin.defaultValue && key.allowed == twin.allowed)
            #expect(key.traits == twin.traits && key.formats == twin.formats, "\(key.name)")
            let name = key.isOpen ? key.name + ".x" : key.name
            #expect(
                Key.named(name)?.key.name == key.name && Key.named(name)?.entry == (key.isOpen ? "x" : nil))
            #expect(Key.needsAdmin(name) == twin.needsAdmin)
        }
        let loaded = try Workshop().load(Self.home)
        let listed = Set(loaded.listing.map(\.key).filter { $0.hasPrefix("destination.") })
        #expect(listed == Set(own.filter { !$0.isOpen }.map(\.name)))
    }

    @Test(
        "a wrong type is found under each name, with its line",
        arguments: (Key.sync + Key.formats + Key.commands + Key.auth).map(\.name))
    func types(name: String) throws {
        let leaf = name.dropFirst("sync.".count)
        for (table, line) in [("sync", 1), ("destination.home", 3)] {
            let home = leaf == "url" ? "[destination.home]\nplatform = \"x\"\n" : Self.home
            let problems = try Workshop().problems(
                line == 1 ? "\(name) = 1979-05-27\n" : home + "\(leaf) = 1979-05-27\n")
            #expect(problems.count == 1 && problems.first?.key == "\(table).\(leaf)", "\(problems)")
            #expect(problems.first?.line == line && problems.first?.message.contains("found a date") == true)
        }
    }

    @Test(
        "names",
        arguments: [
            ("a", nil), ("0", nil), ("-", nil), ("home_2-b", nil), (String(repeating: "a", count: 32), nil),
            ("sync", nil),
            (String(repeating: "a", count: 33), "1 to 32"), ("\"\"", "1 to 32"), ("Home", "a-z, 0-9"),
            ("\"a.b\"", "a-z, 0-9"),
            ("\"a b\"", "a-z, 0-9"), ("\"ä\"", "a-z, 0-9"), ("\"a\\u001bb\"", "a-z, 0-9"),
            ("main", "what [sync] is called"),
        ] as [(String, String?)])
    func names(name: String, complaint: String?) throws {
        let workshop = try Workshop()
        let text = "\n[destination.\(name)]\nurl = \"https://a.example/\"\n"
        guard let complaint else {
            let settings = try workshop.load(text).settings
            return #expect(settings.destinations.map(\.name) == [name])
        }
        let problems = workshop.problems(text)
        #expect(
            problems.map(\.line) == [2] && problems.first?.message.contains(complaint) == true, "\(problems)")
        #expect(problems.first?.description.unicodeScalars.contains("\u{1b}") == false)
    }

    @Test("seven, in as many files as you like, and not eight") func count() throws {
        let workshop = try Workshop()
        let table = { (name: String) in "[destination.\(name)]\nurl = \"https://a.example/\"\n" }
        try workshop.write(table("e") + table("f") + table("g"), to: "beekond.d/10.toml")
        try workshop.write(table("a") + "interval_seconds = 70\n", to: "beekond.d/20.toml")
        let four = ["a", "b", "c", "d"].map(table).joined()
        let settings = try workshop.load(four).settings
        #expect(settings.destinations.map(\.name) == ["a", "b", "c", "d", "e", "f", "g"])
        #expect(settings.destinations.first?.sync.intervalSeconds == 70)
        try workshop.write("\n" + table("h") + table("i"), to: "beekond.d/30.toml")
        let problems = workshop.problems(four)
        #expect(
            problems.map(\.description).map { $0.dropFirst(workshop.folder.count) } == [
                "/beekond.d/30.toml:2: destination.h: one of 9 destinations; at most 7 are allowed besides [sync]"
            ])
    }

    @Test(
        "a typing error is named, with its line",
        arguments: [
            ("[destinations.home]\nurl = \"https://a.b\"\n", 1, "destinations", "did you mean destination?"),
            ("[destinaton.home]\nurl = \"https://a.b\"\n", 1, "destinaton", "did you mean destination?"),
            ("[destination]\nurl = \"https://a.b\"\n", 2, "destination.url", "write [destination.NAME]"),
            ("destination = \"home\"\n", 1, "destination", "write [destination.NAME]"),
            ("[\"destination.home\"]\nurl = \"https://a.b\"\n", 1, "destination.home", "without any"),
            ("\"destination.home.url\" = \"https://a.b\"\n", 1, "destination.home.url", "without any"),
            ("[[destination.home]]\nurl = \"https://a.b\"\n", 1, "destination.home", "found a list"),
            (
                "[destination.home]\ninterval_seconds = 70\n", 1, "destination.home",
                "a destination needs a url"
            ),
            ("[destination.home]\nurl = \"\"\n", 2, "destination.home.url", "a destination needs a url"),
            (
                home + "[destination.hoem]\ninterval_seconds = 70\n", 3, "destination.hoem",
                "did you mean [destination.home]?"
            ),
            (home + "[destination.syn]\n", 3, "destination.syn", "a destination needs a url"),
            (
                home + "intervall_seconds = 70\n", 3, "destination.home.intervall_seconds",
                "did you mean destination.home.interval_seconds?"
            ),
            (home + "max_rows = 70\n", 3, "destination.home.max_rows", "did you mean store.max_rows?"),
            (home + "colour = 70\n", 3, "destination.home.colour", "known here are url, format"),
            (
                home + "[destination.home.auht]\naccess_token = \"x\"\n", 3, "destination.home.auht",
                "did you mean destination.home.auth?"
            ),
            (
                home + "[destination.home.auth]\nacces_token_file = \"x\"\n", 4,
                "destination.home.auth.acces_token_file",
                "did you mean destination.home.auth.access_token_file?"
            ),
            (
                home + "headers = \"X: y\"\n", 3, "destination.home.headers",
                "write [destination.home.headers]"
            ),
            (home + "auth = 5\n", 3, "destination.home.auth", "found a whole number"),
            (home + "auth = \"mian\"\n", 3, "destination.home.auth", "only the tokens of \"main\""),
            ("[sync]\nauth = \"main\"\n", 2, "sync.auth", "expected a table"),
            (
                home + "client_key = \"/etc/hostname\"\n", 3, "destination.home.client_key",
                "set destination.home.client_certificate"
            ),
            (
                home + "[destination.home.auth]\nrefresh_url = \"http://t.example/\"\n", 4,
                "destination.home.auth.refresh_url", "destination.home.allow_insecure_http"
            ),
            (
                home + "[destination.home.auth]\nrefresh_url = \"mqtts://t.example/\"\n", 4,
                "destination.home.auth.refresh_url", "not a usable URL"
            ),
        ])
    func mistakes(text: String, line: Int, key: String, message: String) throws {
        let problems = try Workshop().problems(text)
        #expect(problems.map(\.line) == [line] && problems.first?.key == key, "\(problems)")
        #expect(problems.first?.message.contains(message) == true, "\(problems)")
    }

    @Test(
        "the latest location may go more often",
        arguments: [
            ("all", "5", 60.0, "60 to"), ("all", "60", 60, nil), ("latest", "5", 5, nil),
            ("latest", "59.5", 59.5, nil),
            ("latest", "4", 5, "5 to"), ("latest", "-1", 5, "5 to"), ("latest", "1e300", 31_536_000, "5 to"),
        ] as [(String, String, Double, String?)])
    func intervals(deliver: String, written: String, expected: Double, note: String?) throws {
        for table in ["sync", "destination.home"] {
            let workshop = try Workshop()
            // What decides may stand in a later file.
            try workshop.write("[\(table)]\ndeliver = \"\(deliver)\"\n", to: "beekond.d/10.toml")
            let loaded = try workshop.load(
                "[\(table)]\nurl = \"https://a.example/\"\ninterval_seconds = \(written)\n")
            #expect(loaded.settings.allDestinations.first?.sync.intervalSeconds == expected)
            #expect(
                loaded.listing.first { $0.key == table + ".interval_seconds" }?.value == .number(expected))
            #expect(loaded.warnings.count == (note == nil ? 0 : 1))
            let prefix = "\(workshop.file):3: \(table).interval_seconds: "
            if let note {
                #expect(loaded.warnings.allSatisfy { $0.hasPrefix(prefix) && $0.contains("from \(note)") })
            }
        }
    }

    @Test(
        "no other proxy sees main's tokens", arguments: [("http", true), ("https", false)])
    func sharedTokensByProxy(scheme: String, isRefused: Bool) throws {
        let url = "url = \"\(scheme)://a.example/\"\nallow_insecure_http = true\n"
        let text =
            "[sync]\n\(url)[sync.auth]\naccess_token = \"a\"\n[destination.live]\n\(url)auth = \"main\"\n"
        let workshop = try Workshop()
        #expect(workshop.problems(text).isEmpty)
        let found = workshop.problems(text + "proxy = \"http://p.example:3128\"\n")
        #expect(found.map(\.key) == (isRefused ? ["destination.live.proxy"] : []))
    }

    @Test(
        "main's tokens are for one scheme, host and port",
        arguments: [
            ("https://a.example/live", nil), ("HTTPS://A.EXAMPLE:443/", nil),
            ("https://a.example./?k=1", nil),
            ("https://b.example/", "for the scheme, host and port of sync.url"),
            ("https://a.example:8443/", "for the scheme"),
            ("http://a.example/", "for the scheme"),
        ] as [(String, String?)])
    func sharedTokens(url: String, complaint: String?) throws {
        let tokens = "[sync.auth]\nrefresh_token = \"r\"\nrefresh_url = \"https://t.example/\"\n"
        let table = "[destination.live]\nurl = \"\(url)\"\nallow_insecure_http = true\nauth = \"main\"\n"
        let workshop = try Workshop()
        let text = Self.main + tokens + table
        guard let complaint else {
            let loaded = try workshop.load(text)
            let live = try #require(loaded.settings.destinations.first)
            #expect(live.sharesMainTokens && live.sync.auth == nil)
            #expect(loaded.listing.first { $0.key == "destination.live.auth" }?.value == .string("main"))
            #expect(
                workshop.problems(Self.main + table).first?.message.contains("main has no tokens") == true)
            #expect(workshop.problems(tokens + table).map(\.key) == ["destination.live.auth"])
            try workshop.write("[destination.live.auth]\naccess_token = \"a\"\n", to: "beekond.d/10.toml")
            #expect(workshop.problems(text).map(\.key) == ["destination.live.auth"])
            return
        }
        let problems = workshop.problems(text)
        #expect(problems.map(\.line) == [9] && problems.first?.key == "destination.live.auth")
        #expect(problems.first?.message.contains(complaint) == true, "\(problems)")
    }

    @Test("a refresh token has one owner") func refreshTokens() throws {
        let token = { (table: String, token: String) in "[\(table).auth]\nrefresh_token = \"\(token)\"\n" }
        let workshop = try Workshop()
        let text = Self.main + token("sync", "hunter2") + Self.home + token("destination.home", "hunter2")
        let problems = workshop.problems(text)
        #expect(problems.map(\.line) == [8] && problems.first?.key == "destination.home.auth.refresh_token")
        #expect(problems.first?.message.contains("sync.auth.refresh_token") == true)
        #expect(!ConfigurationError(problems).description.contains("hunter2"))
        try workshop.write("hunter2", to: "r")
        let fromFile =
            Self.main + token("sync", "hunter2") + Self.home
            + "[destination.home.auth]\nrefresh_token_file = \"r\"\n"
        #expect(workshop.problems(fromFile).map(\.line) == [8])
        #expect(
            workshop.problems(Self.main + token("sync", "a") + Self.home + token("destination.home", "b"))
                .isEmpty)
        // The same access token is no matter.
        let access = text.split(separator: "refresh_token").joined(separator: "access_token")
        #expect(workshop.problems(access).isEmpty)
        // A copy of the files, whose tokens are all gone, is as good as they were.
        let copy = Seeds.removed(
            from: Array((Self.main + token("sync", "a") + Self.home + token("destination.home", "b")).utf8))
        #expect(!String(decoding: copy, as: UTF8.self).contains("refresh_token = \"a\""))
        #expect(!String(decoding: copy, as: UTF8.self).contains("refresh_token = \"b\""))
        let settings = try workshop.load(String(decoding: copy, as: UTF8.self)).withoutSeeds.settings
        #expect(
            settings.allDestinations.allSatisfy { $0.sync.auth != nil && $0.sync.auth?.refreshToken == nil })
    }

    @Test("secrets of every kind are masked, and may stand in files") func secrets() throws {
        let workshop = try Workshop()
        try workshop.write("hunter2", to: "s")
        let table = { (table: String) in
            """
            [\(table)]
            url = "https://a.example/?k=hunter2"
            format = "owntracks"
            device_id = "van1"
            username_file = "s"
            password_file = "s"
            [\(table).headers]
            X = { file = "s" }

            """
        }
        let params =
            "[destination.p]\nurl = \"https://p.example/\"\nparams = { a = \"hunter2\", b = { file = \"s\" }, c = 2222 }\n"
        try workshop.write(table("sync") + table("destination.home") + params)
        let loaded = try workshop.load()
        for destination in loaded.settings.allDestinations.prefix(2) {
            guard case .owntracks(let format) = destination.sync.format else { return #expect(Bool(false)) }
            #expect(format.username?.text == "hunter2" && format.password?.text == "hunter2")
        }
        var dumped = ""
        dump(loaded.listing, to: &dumped)
        dump(loaded.settings.allDestinations.map(\.sync.format), to: &dumped)
        #expect(!dumped.contains("hunter2") && !dumped.contains("2222"))
        let values = Dictionary(uniqueKeysWithValues: loaded.listing.map { ($0.key, $0.value) })
        for name in [
            "sync.username", "destination.home.password", "destination.home.headers.X",
            "destination.p.params.a",
            "destination.p.params.b", "destination.p.params.c",
        ] {
            #expect(values[name] == .string("(set)"), "\(name)")
        }
        #expect(values["destination.home.url"] == .string("https://a.example/?(set)"))
        // Whoever else can read the file is told of, for the secrets it holds itself.
        try workshop.write(params, mode: 0o644)
        #expect(try workshop.load().warnings.map { $0.contains("destination.p.params.a") } == [true])
    }
}
