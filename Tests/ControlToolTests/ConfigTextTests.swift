import ControlProtocol
import ControlTool
import Testing

@Suite("settings as text")
struct ConfigTextTests {
    private static let settings: [Wire.Setting] = [
        .init(key: "gpsd.host", value: .string("127.0.0.1"), origin: "default"),
        .init(key: "gpsd.replay", value: .bool(false), origin: "runtime"),
        .init(
            key: "tracking.interval_seconds", value: .integer(7),
            origin: "/etc/beekond/beekond.toml:3"),
        .init(
            key: "tracking.distance_meters", value: .number(0.5),
            origin: "/etc/beekond/beekond.d/10-a-long-name-of-a-fleet.toml:12"),
        .init(
            key: "sync.url",
            value: .string("https://a.example/\u{1b}[2J" + String(repeating: "x", count: 200)),
            origin: "/etc/beekond/beekond.toml:9"),
        .init(
            key: "sync.auth.response_mapping.refresh_token", value: .string("(set)"), origin: "default"),
        .init(
            key: "sync.metered_interfaces", value: .array([.string("wwan*"), .string("ppp*")]),
            origin: "default"),
        .init(
            key: "extras.\u{1b}" + String(repeating: "y", count: 90), value: .string("z"), origin: "runtime"),
    ]

    @Test("the table fits 80 columns, with origins and without", arguments: [true, false])
    func table(withOrigin: Bool) {
        let lines = ConfigText.table(Self.settings, withOrigin: withOrigin)
        for line in lines {
            #expect(line.count <= 80, "\(line)")
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 })
        }
        #expect(lines[0].hasPrefix("KEY "))
        #expect(lines.contains { $0.hasPrefix("gpsd.host ") && $0.contains("\"127.0.0.1\"") })
        #expect(lines.contains { $0.hasPrefix("tracking.distance_meters ") && $0.contains("0.5") })
        #expect(lines.contains { $0.contains(" (set)") })
        #expect(lines.contains { $0.contains(" [\"wwan*\", \"ppp*") })
        #expect(lines.contains("Files are in /etc/beekond/") == withOrigin)
    }

    @Test("an origin is shown without the common folder")
    func origins() {
        let lines = ConfigText.table(Array(Self.settings[0...3]), withOrigin: true)
        #expect(
            lines == [
                "KEY                       VALUE       ORIGIN",
                "gpsd.host                 \"127.0.0.1\" default",
                "gpsd.replay               false       runtime",
                "tracking.interval_seconds 7           beekond.toml:3",
                "tracking.distance_meters  0.5         …ekond.d/10-a-long-name-of-a-fleet.toml:12",
                "", "Files are in /etc/beekond/",
            ])
    }

    @Test(
        "a value is read by the type that its key has",
        arguments: [
            ("gpsd.host=a=b", "gpsd.host", JSONValue.string("a=b")),
            ("gpsd.host=5", "gpsd.host", .string("5")),
            ("gpsd.host=", "gpsd.host", .string("")), ("gpsd.replay=true", "gpsd.replay", .bool(true)),
            ("tracking.interval_seconds=10", "tracking.interval_seconds", .integer(10)),
            ("tracking.interval_seconds=1.5", "tracking.interval_seconds", .number(1.5)),
            ("sync.metered_interfaces=a,b", "sync.metered_interfaces", .array([.string("a"), .string("b")])),
            ("sync.metered_interfaces=[\"a,b\"]", "sync.metered_interfaces", .array([.string("a,b")])),
            ("sync.metered_interfaces=", "sync.metered_interfaces", .array([])),
            ("extras.driver=7", "extras.driver", .string("7")), ("no.such=1", "no.such", .string("1")),
        ])
    func pairs(argument: String, key: String, value: JSONValue) throws {
        let pair = try ConfigText.pair(argument, among: Self.settings)
        #expect(pair.key == key && pair.value == value)
    }

    @Test(
        "what cannot be one is refused",
        arguments: [
            ("gpsd.host", Int32(64)), ("=1", 64), ("gpsd.replay=yes", 65),
            ("tracking.interval_seconds=ten", 65),
            ("tracking.interval_seconds=nan", 65), ("tracking.interval_seconds=inf", 65),
            ("tracking.interval_seconds=", 65), ("sync.metered_interfaces=[a]", 65),
            ("sync.metered_interfaces=[1]", 65),
        ])
    func badPairs(argument: String, code: Int32) {
        #expect {
            try ConfigText.pair(argument, among: Self.settings)
        } throws: { ($0 as? Failure)?.exitCode == code }
    }

    @Test("keys and tables select settings; a name that selects nothing is refused")
    func chosen() throws {
        #expect(try ConfigText.chosen(Self.settings, named: []).count == 8)
        let found = try ConfigText.chosen(Self.settings, named: ["tracking", "gpsd.host"])
        #expect(found.map(\.key) == ["gpsd.host", "tracking.interval_seconds", "tracking.distance_meters"])
        #expect(throws: Failure.self) { try ConfigText.chosen(Self.settings, named: ["track"]) }
    }

    @Test("the result is shown, and values that differ from the requested ones")
    func differences() {
        let settings = Array(Self.settings[2...3])
        #expect(
            ConfigText.lines(settings).first == "tracking.interval_seconds = 7  (/etc/beekond/beekond.toml:3)"
        )
        #expect(
            ConfigText.differences(
                settings,
                from: ["tracking.interval_seconds": .number(7), "tracking.distance_meters": .integer(9)])
                == ["tracking.distance_meters is 0.5, the nearest to 9 that is allowed"])
    }

    @Test("changed, new and removed settings")
    func changes() {
        var new = Array(Self.settings[1...3])
        new[0].value = .bool(true)
        #expect(
            ConfigText.changes(from: Array(Self.settings[0...2]), to: new) == [
                "gpsd.replay = true  (was false)", "tracking.distance_meters = 0.5  (new)",
                "gpsd.host is gone",
            ])
        #expect(ConfigText.changes(from: Self.settings, to: Self.settings).isEmpty)
    }
}
