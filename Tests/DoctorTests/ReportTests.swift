import ControlProtocol
import ControlTool
import DaemonConfiguration
import Testing

@testable import Doctor

@Suite("the report for support")
struct ReportTests {
    @Test("what is known as a secret is taken out wherever it stands, the longest first")
    func scrubbing() {
        let scrubber = Scrubber(
            nil,
            listing: [
                ("sync.url", .string("https://(set)@h.example/api/webhook/0123456789abcdef0123?(set)")),
                ("extras.driver", .string("Erika")), ("extras.van", .string("Erika Musterfrau")),
                ("extras.short", .string("no")), ("sync.platform", .string("linux")),
            ])
        #expect(
            scrubber.scrubbed(
                "Erika Musterfrau, Erika; no linux https://h.example/api/webhook/0123456789abcdef0123")
                == "(set), (set); no linux https://h.example/api/webhook/(set)")
    }

    @Test(
        "every part of a path that is no word of the examples is masked, however short it is",
        arguments: [
            ("https://h.example/in/s3cr3t/", "https://h.example/(set)/(set)/"),
            ("https://h.example/api/v1/locations", "https://h.example/api/v1/locations"),
            ("at https://h.example:8/a/b1?x#y, or", "at https://h.example:8/(set)/(set)?x#y, or"),
            ("(https://h.example/key)", "(https://h.example/(set)"),
            ("404 at /in/s3cr3t/log", "404 at /(set)/(set)/log"),
            ("key s3cr3t, a word in", "key (set), a word in"),
            ("key s3cr3t\u{301}, with a mark", "key (set)\u{301}, with a mark"),
            ("https://h.example", "https://h.example"), ("/var/lib/beekond", "/var/lib/beekond"),
        ])
    func paths(text: String, shown: String) {
        let scrubber = Scrubber(nil, listing: [("sync.url", .string("https://h.example/in/s3cr3t/"))])
        #expect(scrubber.scrubbed(text) == shown)
    }

    @Test("the words are those of the examples")
    func words() throws {
        let folder = try #require(#filePath.firstRange(of: "/Tests/")).lowerBound
        let root = String(#filePath[..<folder])
        var parts: Set<String> = []
        let names = Host.list("\(root)/etc/examples").filter { $0.hasSuffix(".toml") }
        #expect(names.count > 10)
        for name in names {
            let text = try #require(Host.text("\(root)/etc/examples/\(name)"))
            for piece in text.split(whereSeparator: { $0.isWhitespace || "\"'`,;".contains($0) }) {
                parts.formUnion(Settings.pathParts(of: String(piece)))
            }
        }
        // These stand for keys and names of the operator's.
        let own: Set<String> = ["0123456789abcdef", "van1", "…"]
        #expect(parts.subtracting(own).isSubset(of: PathWords.all), "\(parts.subtracting(PathWords.all))")
        #expect(own.isDisjoint(with: PathWords.all))
    }

    @Test(
        "what may be a coordinate is taken out; times, seconds and versions are not",
        arguments: [
            ("latitude 52.5163 is wrong", "latitude (number) is wrong"),
            ("[13.378,52.516]", "[(number),(number)]"),
            ("lat:-33.85670.", "lat:-(number)"), ("=+151.2153", "=+(number)"), ("52.51", "52.51"),
            ("at 2026-11-25T22:50:07.123456+0000", "at 2026-11-25T22:50:07.123456+0000"),
            ("after 12.345 s.", "after 12.345 s."), ("12.345 south", "(number) south"),
            ("kernel 6.18.443", "kernel 6.18.443"), ("1795649914.123", "1795649914.123"), ("7.", "7."),
            ("", ""),
        ])
    func places(text: String, shown: String) {
        #expect(Places.hidden(in: text) == shown)
        #expect(
            Places.hidden(inJSON: #"{"a \" 1.2345":1.2345,"b":["\#(text)"],"c":2.3456}"#)
                == #"{"a \" (number)":1.2345,"b":["\#(shown)"],"c":2.3456}"#)
    }

    @Test("texts of JSON that is cut end where it does", arguments: ["\"", "\"1.2345", "{\"a\\", "1.2345"])
    func cut(json: String) {
        #expect(Places.hidden(inJSON: json) == (json == "\"1.2345" ? "\"(number)" : json))
    }

    @Test("names of checks never touch what is said of them")
    func columns() {
        var facts = Samples.good
        for name in ["home-assistant", "a-very-long-destination-name-012"] {
            facts.others.append(DestinationFacts(name, BackendFacts()))
        }
        for width in [60, 80, 100] {
            let lines = Diagnosis(facts).lines(width: width, palette: .init(enabled: false))
            #expect(lines.allSatisfy { $0.count <= width })
            #expect(lines.contains { $0.contains("to home-assistant ") })
            // Where it has no room it stands alone, whole.
            #expect(lines.contains("✓ to a-very-long-destination-name-012"), "\(lines)")
        }
    }

    @Test("a tar of two files has the blocks that it must have, and a sum that is right")
    func tar() {
        var archive = TarArchive(time: 1_750_000_000)
        archive.add("report/a.txt", Array("hello".utf8))
        archive.add("report/b.txt", [UInt8](repeating: 7, count: 512))
        let bytes = archive.bytes
        #expect(bytes.count == 4 * 512)
        let header = Array(bytes[..<512])
        #expect(header[257..<262].elementsEqual(Array("ustar".utf8)))
        var blank = header
        for index in 148..<156 { blank[index] = UInt8(ascii: " ") }
        let sum = blank.reduce(0) { $0 + Int($1) }
        #expect(Int(String(decoding: header[148..<154], as: UTF8.self), radix: 8) == sum)
        #expect(String(decoding: header[124..<135], as: UTF8.self) == "00000000005")
    }
}
