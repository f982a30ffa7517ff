import FoundationEssentials
import Testing

@testable import DaemonConfiguration

@Suite("secrets") struct SecretTests {
    static let text = """
        [sync]
        url = "https://user:hunter2@example.com/in?key=hunter2#hunter2"
        proxy = "http://me:hunter2@proxy:1"
        [sync.headers]
        X-Api-Key = "hunter2"
        [sync.auth]
        access_token = "hunter2"
        refresh_payload.secret = "hunter2"
        refresh_headers.Authorization = "hunter2"
        """

    @Test("are not in the listing, nor in anything described or dumped") func listing() throws {
        let loaded = try Workshop().load(Self.text)
        var dumped = ""
        dump(loaded.listing, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        let values = Dictionary(uniqueKeysWithValues: loaded.listing.map { ($0.key, $0.value) })
        #expect(values["sync.url"] == .string("https://(set)@example.com/in?(set)"))
        #expect(values["sync.headers.X-Api-Key"] == .string("(set)"))
        #expect(values["sync.auth.access_token"] == .string("(set)"))
        #expect(values["sync.auth.refresh_token"] == .string(""))
        let headers = try #require(loaded.settings.sync?.headers)
        dumped = "\(headers) \(String(reflecting: headers))"
        dump(headers, to: &dumped)
        #expect(!dumped.contains("hunter2") && headers.first?.value.text == "hunter2")
    }

    @Test(
        "are not in complaints about them",
        arguments: [
            "[sync]\nurl = \"https://hunter2@/\"", "[sync]\nproxy = \"hunter2\"",
            "[sync]\nca_file = \"hunter2\"",
            "[sync.headers]\nHost = \"hunter2\"", "[sync.auth]\naccess_token = \"hunter2\\n\"",
            "[sync.auth]\naccess_token = [\"hunter2\"]", "[sync.auth]\naccess_token = hunter2",
            "[sync.headers]\nX = \"hunter2\" hunter2", "[sync.headers]\nX = { fiel = \"hunter2\" }",
        ])
    func complaints(text: String) throws {
        let problems = try Workshop().problems(text)
        #expect(problems.count == 1)
        #expect(!ConfigurationError(problems).description.contains("hunter2"))
    }

    @Test("in a file that everybody can read are pointed out") func worldReadable() throws {
        let workshop = try Workshop()
        try workshop.write(Self.text, mode: 0o644)
        let warnings = try workshop.load().warnings
        #expect(warnings.count == 1 && warnings[0].contains("chmod o-r \(workshop.file)"))
        try workshop.write(Self.text, mode: 0o640)
        #expect(try workshop.load().warnings.isEmpty)
        try workshop.write("[gpsd]\nport = 1\n", mode: 0o644)
        #expect(try workshop.load().warnings.isEmpty)
    }

    static let fromFile = "[sync]\nurl = \"https://a.b\"\n[sync.auth]\naccess_token_file = "

    @Test("are read from files beside the configuration, or from the credentials") func files() throws {
        let workshop = try Workshop()
        try workshop.write("in-etc\n\n", to: "token")
        try workshop.write("in-cred", to: "cred/both")
        try workshop.write("in-etc", to: "both")
        for (name, expected) in [
            ("token", "in-etc\n"), ("both", "in-cred"), ("\(workshop.folder)/both", "in-etc"),
            ("\(workshop.folder)/cred/both", "in-cred"),
        ] {
            let loaded = try workshop.load(
                "[sync]\nurl = \"https://a.b\"\n[sync.auth.refresh_payload]\nx = { file = \"\(name)\" }\n")
            #expect(loaded.settings.sync?.auth?.refreshPayload.first?.value.text == expected, "\(name)")
        }
        try workshop.write(
            "[sync.headers]\nX-Key = { file = \"both\" }", to: "beekond.d/10.toml", mode: 0o644)
        let loaded = try workshop.load(Self.fromFile + "\"both\"")
        #expect(loaded.settings.sync?.auth?.accessToken?.text == "in-cred")
        #expect(loaded.settings.sync?.headers.first?.value.text == "in-cred")
        #expect(loaded.warnings.isEmpty, "a file that only names secrets may be read by all")
        #expect(loaded.listing.first { $0.key == "sync.auth.access_token" }?.value == .string("(set)"))
    }

    @Test(
        "outside of the allowed places are refused",
        arguments: [
            ("../token", "without “..”"), ("/etc/hostname", "must be in"), ("a/../token", "without “..”"),
            ("link", "symbolic links"), ("linked/both", "symbolic links"), ("missing", "No such file"),
            ("cred", "not a regular file"), ("big", "larger than 65536"), ("empty", "one line of 1"),
            ("lines", "one line"), ("./token", "must be in"), ("", "must be in"),
        ])
    func refused(name: String, message: String) throws {
        let workshop = try Workshop()
        try workshop.write("t", to: "cred/both")
        try workshop.write("", to: "empty")
        try workshop.write("a\nb\n", to: "lines")
        try workshop.write(Data(repeating: 97, count: 65_537), to: "big")
        for (link, target) in [("link", "lines"), ("linked", "cred")] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(workshop.folder)/\(link)", withDestinationPath: "\(workshop.folder)/\(target)")
        }
        let problems = workshop.problems(Self.fromFile + "\"\(name)\"")
        #expect(problems.map(\.line) == [4] && problems.first?.key == "sync.auth.access_token_file")
        #expect(problems.first?.message.contains(message) == true, "\(problems)")
    }

    @Test("are not read for a configuration outside /etc") func roots() throws {
        let workshop = try Workshop()
        try workshop.write("t", to: "token")
        try workshop.write(Self.fromFile + "\"token\"")
        let error = #expect(throws: ConfigurationError.self) {
            try Loader.load(file: workshop.file, isDefaultPath: false)
        }
        #expect(error?.description.contains("only in configuration files under /etc") == true)
    }

    @Test("given twice are a mistake") func twice() throws {
        let workshop = try Workshop()
        try workshop.write("t", to: "token")
        let problems = workshop.problems("[sync.auth]\naccess_token = \"a\"\naccess_token_file = \"token\"\n")
        #expect(problems.map(\.line) == [3])
        #expect(problems.first?.message.contains(":2; remove one") == true)
    }
}
