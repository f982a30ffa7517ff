import FoundationEssentials
import Support
import Testing

@testable import DaemonConfiguration

/// A configuration with one mistake, and what must be said about it.
struct Broken: Sendable, CustomTestStringConvertible {
    let text: String
    let line: Int
    let key: String?
    let message: String

    init(_ text: String, line: Int, _ key: String?, _ message: String) {
        self.text = text
        self.line = line
        self.key = key
        self.message = message
    }

    var testDescription: String { text }

    static let syntax: [Broken] = [
        Broken("[gpsd]\nport = \n", line: 2, nil, "a value is missing"),
        Broken("[gpsd\nport = 1", line: 1, nil, "“]”"),
        Broken("[gpsd]\nhost = \"127.0.0.1\n", line: 2, nil, "quote is missing"),
        Broken("[gpsd]\nhost = localhost\n", line: 2, nil, "texts go in quotes"),
        Broken("[gpsd]\nport 2947\n", line: 2, nil, "“=”"),
        Broken("[gpsd]\nport = 1 port = 2\n", line: 2, nil, "one setting a line"),
        Broken("[gpsd]\nport = 1\nhost = \"a\"\nport = 2\n", line: 4, nil, "set already, in line 2"),
        Broken("[gpsd]\nport = 1\n[store]\n[gpsd]\n", line: 4, nil, "merge the two"),
        Broken("[gpsd]\nhost = \"\\q\"\n", line: 2, nil, "doubled"),
        Broken("[gpsd]\nport = 007\n", line: 2, nil, "neither a number"),
        Broken("[gpsd]\nport = 99999999999999999999\n", line: 2, nil, "neither a number"),
        Broken("[gpsd]\nhost = \"\"\"a\n\n", line: 2, nil, "never closed"),
        Broken("[gpsd]\nhost = \"a\u{0}b\"\n", line: 2, nil, "control character"),
    ]

    static let names: [Broken] = [
        Broken(
            "[tracking]\nintervall_seconds = 3\n", line: 2, "tracking.intervall_seconds",
            "did you mean tracking.interval_seconds?"),
        Broken("[trackin]\ninterval_seconds = 3\n", line: 1, "trackin", "did you mean tracking?"),
        Broken(
            "[store]\ninterval_seconds = 3\n", line: 2, "store.interval_seconds", "tracking.interval_seconds"),
        Broken("[store]\ncolour = 3\n", line: 2, "store.colour", "known here are retention_days"),
        Broken("[telemetry]\n", line: 1, "telemetry", "the tables are"),
        Broken("port = 3\n", line: 1, "port", "did you mean gpsd.port?"),
        Broken(
            "[sync.auth]\nacces_token_file = \"x\"\n", line: 2, "sync.auth.acces_token_file",
            "did you mean sync.auth.access_token_file?"),
        Broken("tracking = 5\n", line: 1, "tracking", "write [tracking]"),
        Broken("[[tracking]]\n", line: 1, "tracking", "found a list"),
    ]

    static let types: [Broken] = [
        Broken("[gpsd]\nport = \"2947\"\n", line: 2, "gpsd.port", "without quotes"),
        Broken("[gpsd]\nport = 29.5\n", line: 2, "gpsd.port", "a whole number from 1 to 65535"),
        Broken(
            "[gpsd]\nreplay = 1\n", line: 2, "gpsd.replay", "expected true or false, found a whole number"),
        Broken("[gpsd]\nreplay = \"true\"\n", line: 2, "gpsd.replay", "without quotes"),
        Broken("[gpsd]\nhost = 127\n", line: 2, "gpsd.host", "put it in quotes"),
        Broken("[gpsd]\nhost = [\"a\"]\n", line: 2, "gpsd.host", "found a list"),
        Broken("[gpsd]\nhost = 1979-05-27\n", line: 2, "gpsd.host", "a date"),
        Broken(
            "[tracking]\ninterval_seconds = true\n", line: 2, "tracking.interval_seconds",
            "found true or false"),
        Broken("[tracking.interval_seconds]\n", line: 1, "tracking.interval_seconds", "found a table"),
        Broken(
            "[tracking]\nstationary_mode = \"puase\"\n", line: 2, "tracking.stationary_mode",
            "did you mean \"pause\"?"),
        Broken("[tracking]\nstationary_mode = 1\n", line: 2, "tracking.stationary_mode", "one of \"pause\""),
        Broken("[sync]\nheaders = \"X: y\"\n", line: 2, "sync.headers", "write [sync.headers]"),
        Broken("[extras]\nuser = 12\n", line: 2, "extras.user", "put it in quotes"),
    ]

    static let ranges: [Broken] = [
        Broken(
            "[gpsd]\nport = 0\n", line: 2, "gpsd.port",
            "0 is out of range; use a whole number from 1 to 65535"),
        Broken("[gpsd]\nport = 65536\n", line: 2, "gpsd.port", "the default is 2947"),
        Broken("[gpsd]\nport = -9223372036854775808\n", line: 2, "gpsd.port", "out of range"),
        Broken(
            "[tracking]\ninterval_seconds = -0.1\n", line: 2, "tracking.interval_seconds",
            "from 0 to 31536000"),
        Broken("[tracking]\ndistance_meters = 1000001\n", line: 2, "tracking.distance_meters", "(metres)"),
        Broken("[tracking]\ndistance_meters = nan\n", line: 2, "tracking.distance_meters", "nan"),
        Broken("[tracking]\ndistance_meters = -inf\n", line: 2, "tracking.distance_meters", "-inf"),
        Broken(
            "[tracking]\nstationary_radius_meters = inf\n", line: 2, "tracking.stationary_radius_meters",
            "inf"),
        Broken("[tracking]\nangle_degrees = 1e999\n", line: 2, "tracking.angle_degrees", "inf"),
        Broken("[sync]\nbatch_size = 1e300\n", line: 2, "sync.batch_size", "expected a whole number"),
        Broken("[store]\nmax_rows = 0\n", line: 2, "store.max_rows", "out of range"),
    ]

    static let texts: [Broken] = [
        Broken("[sync]\nurl = \"http://example.com/x\"\n", line: 2, "sync.url", "use https"),
        Broken("[sync]\nurl = \"http://127.0.0.1.example.com/\"\n", line: 2, "sync.url", "use https"),
        Broken("[sync]\nurl = \"http://127.1/\"\n", line: 2, "sync.url", "use https"),
        Broken("[sync]\nurl = \"http://localhost@example.com/\"\n", line: 2, "sync.url", "use https"),
        Broken("[sync]\nurl = \"https:///x\"\n", line: 2, "sync.url", "not a usable URL"),
        Broken("[sync]\nurl = \"ftp://example.com\"\n", line: 2, "sync.url", "not a usable URL"),
        Broken("[sync]\nurl = \"https://example.com/a b\"\n", line: 2, "sync.url", "without spaces"),
        Broken("[sync]\nurl = \"https://example.com/\\n\"\n", line: 2, "sync.url", "not a usable URL"),
        Broken("[sync]\nurl = \"https://example.com:99999/\"\n", line: 2, "sync.url", "not a usable URL"),
        Broken(
            "[sync.auth]\nrefresh_url = \"http://example.com/x\"\n", line: 2, "sync.auth.refresh_url", "https"
        ),
        Broken("[sync]\nproxy = \"proxy:3128\"\n", line: 2, "sync.proxy", "not a proxy"),
        Broken("[sync.headers]\n\"X Key\" = \"v\"\n", line: 2, "sync.headers.X Key", "not a header name"),
        Broken("[sync.headers]\nX-Key = \"a\\r\\nB: c\"\n", line: 2, "sync.headers.X-Key", "one line"),
        Broken(
            "[sync.headers]\ncontent-type = \"text/plain\"\n", line: 2, "sync.headers.content-type",
            "the format decides"),
        Broken("[sync.headers]\nHost = \"a\"\n", line: 2, "sync.headers.Host", "follows from the URL"),
        Broken(
            "[sync.headers]\nX-Key = \"a\"\nx-key = \"b\"\n", line: 3, "sync.headers.x-key", "set already"),
        Broken("[sync]\nca_file = \"ca.pem\"\n", line: 2, "sync.ca_file", "absolute path"),
        Broken("[sync]\nca_file = \"/nonexistent/ca.pem\"\n", line: 2, "sync.ca_file", "No such file"),
        Broken(
            "[sync]\nclient_certificate = \"/etc\"\n", line: 2, "sync.client_certificate", "is not a file"),
        Broken(
            "[sync]\nclient_key = \"/etc/passwd\"\n", line: 2, "sync.client_key",
            "set sync.client_certificate"),
        Broken(
            "[extras]\nk = \"\(String(repeating: "x", count: 1025))\"\n", line: 2, "extras.k", "1024 bytes"),
        Broken("[sync.auth]\naccess_token = \"\"\n", line: 2, "sync.auth.access_token", "one line of 1 to"),
    ]
}

@Suite("broken configurations") struct BrokenTests {
    @Test(
        "each mistake is named with file, line, key and remedy",
        arguments: Broken.syntax + Broken.names + Broken.types + Broken.ranges + Broken.texts)
    func names(broken: Broken) throws {
        let workshop = try Workshop()
        let problems = workshop.problems(broken.text)
        try #require(problems.count == 1, "\(problems)")
        #expect(problems[0].file == workshop.file)
        #expect(problems[0].line == broken.line)
        #expect(problems[0].key == broken.key)
        #expect(problems[0].message.contains(broken.message), "\(problems[0])")
    }

    @Test("all mistakes of all files are reported at once") func atOnce() throws {
        let workshop = try Workshop()
        try workshop.write("[gpsd]\nport = 0\n", to: "beekond.d/10.toml")
        let problems = workshop.problems(
            "[gpsd]\nport = x\nhsot = \"a\"\n[store\nmax_rows = 0\n[sync]\nbatch_size = []\n")
        #expect(problems.map(\.line) == [2, 4, 3, 7, 2])
        #expect(problems.last?.file == workshop.folder + "/beekond.d/10.toml")
        #expect(problems[0].description.hasPrefix("\(workshop.file):2:8: "))
    }

    @Test("what is no configuration file is refused") func files() throws {
        let workshop = try Workshop()
        #expect(workshop.problems().map(\.message) == ["there is no such file; check --config"])
        try workshop.write(Data([10, 0xFF, 0xFE, 0]), to: "beekond.toml")
        #expect(workshop.problems().map(\.line) == [2])
        #expect(workshop.problems().first?.message.contains("UTF-8") == true)
        try workshop.write(Data(repeating: 10, count: 2 << 20), to: "beekond.toml")
        #expect(workshop.problems().first?.message.contains("larger than 1048576 bytes") == true)
        try workshop.write(Data(repeating: 10, count: 1 << 20), to: "beekond.toml")
        #expect(workshop.problems().isEmpty)
        try FileManager.default.removeItem(atPath: workshop.file)
        try FileManager.default.createDirectory(atPath: workshop.file, withIntermediateDirectories: false)
        #expect(workshop.problems().first?.message.contains("not a regular file") == true)
    }

    @Test(
        "depth in a file cannot exhaust the stack",
        arguments: [
            "a = " + String(repeating: "[", count: 100_000),
            "a = " + String(repeating: "{a=", count: 100_000),
            String(repeating: "a.", count: 100_000) + "a = 1",
            "[" + String(repeating: "a.", count: 100_000) + "a]",
        ])
    func depth(text: String) throws {
        #expect(try Workshop().problems(text).contains { $0.message.contains("more than 16") })
    }

    @Test(
        "a large file of mistakes is given up soon",
        arguments: ["[[a]]\n", "x = 1 2\n", "[]\n", "a = [[\n", "\"\\u0041\"=", "x.y"])
    func large(line: String) throws {
        let text = String(repeating: line, count: (1 << 20) / line.utf8.count)
        let began = threadTime()
        #expect((1...50).contains(try Workshop().problems(text).count))
        #expect(threadTime() - began < .seconds(30))
    }

    @Test("so is a file of unknown names") func unknownNames() throws {
        let names = (0..<60_000).map { "ab\($0) = 1\n" }.joined()
        #expect(try Workshop().problems(names).count == 50)
    }

    @Test(
        "runtime settings follow the same rules, and cannot be secrets",
        arguments: [
            ("gpsd.port", SettingValue.integer(0), "out of range"),
            ("gpsd.prot", .integer(1), "did you mean gpsd.port?"),
            ("gpsd.port", .string("1"), "without quotes"), ("sync.headers.X-Key", .string("k"), "secret"),
            ("sync.auth.access_token", .string("k"), "secret"), ("sync", .integer(1), "is a table"),
            ("sync.auth.access_token_file", .string("/etc/shadow"), "only a configuration file"),
            ("sync.url", .string("https://u:p@example.com/"), "secret"),
            ("sync.url", .string("http://example.com/"), "use https"),
        ])
    func runtime(name: String, value: SettingValue, message: String) throws {
        let problems = try Workshop().problems("", runtime: [name: value])
        #expect(problems.count == 1 && problems[0].file == "runtime" && problems[0].key == name)
        #expect(problems.first?.message.contains(message) == true, "\(problems)")
    }
}
