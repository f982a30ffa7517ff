import Base
import Testing

@testable import DaemonConfiguration

@Suite("names and addresses") struct TextTests {
    @Test(
        "the nearest name",
        arguments: [
            ("gpsd.prot", "gpsd.port"), ("traking.interval_seconds", "tracking.interval_seconds"),
            ("sync.bach_size", "sync.batch_size"), ("sync.onreject", "sync.on_reject"), ("zzz", nil),
            ("tracking.frobnication", nil),
        ] as [(String, String?)])
    func nearest(name: String, expected: String?) {
        #expect(Nearest.name(to: name, among: Key.all.map(\.name)) == expected)
    }

    @Test(
        "typing mistakes are counted",
        arguments: [
            ("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("abc", "abcd", 1),
            ("kitten", "sitting", 3),
        ])
    func distance(left: String, right: String, expected: Int) {
        #expect(Nearest.distance(Array(left.utf8), Array(right.utf8)) == expected)
    }

    @Test(
        "URLs are shown without their secrets",
        arguments: [
            ("https://a.b/c", "https://a.b/c"), ("https://u@a.b", "https://(set)@a.b"), ("", ""),
            ("https://u:p@x@a.b/c?d=e", "https://(set)@a.b/c?(set)"), ("https://a.b?d", "https://a.b?(set)"),
            ("https://a.b/#x", "https://a.b/?(set)"), ("hunter2", "(set)"),
        ])
    func redacted(url: String, expected: String) { #expect(Settings.redacted(url: url) == expected) }

    @Test("what upsets a terminal is escaped") func escaped() {
        #expect("a\u{1B}[31m\u{202E}ü".escaped == "a\\u{1b}[31m\\u{202e}ü")
        #expect(String(repeating: "x", count: 100).escaped.count == 81)
    }

    @Test("the table of keys is complete in words") func table() {
        #expect(Set(Key.all.map(\.name)).count == Key.all.count)
        for key in Key.all { #expect(key.meaning.hasSuffix(".") && !key.allowed.isEmpty, "\(key.name)") }
        #expect(Key.all.first { $0.name == "gpsd.port" }?.allowed == "a whole number from 1 to 65535")
    }
}
