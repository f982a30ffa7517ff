import Testing

@testable import Upload

@Suite("what a server says of its refusal")
struct ServerReasonTests {
    private func read(_ text: String, hiding secret: String? = nil) -> String? {
        ServerReason.read(Array(text.utf8)) { text in
            secret.map {
                text.split(separator: $0, omittingEmptySubsequences: false).joined(separator: "(set)")
            }
                ?? text
        }
    }

    @Test(
        "bodies, and what is told of them",
        arguments: [
            (
                #"{"title":"Unknown vehicle","detail":"truck-12","pointer":"/locations/3","index":3}"#,
                "Unknown vehicle: truck-12 (/locations/3, index 3)"
            ),
            (#"{"title":"T"}"#, "T"), (#"{"detail":"D","title":7}"#, "D"),
            (#"{"message":"m","error":"e"}"#, "m"), (#"{"error":"e","reason":"r"}"#, "e"),
            (#"{"reason":"r"}"#, "r"), (#"{"error":{"code":1,"message":"inner"}}"#, "inner"),
            (#"{"error":{"code":1},"reason":"r"}"#, "r"), (#"{"error":true}"#, nil), ("{}", nil), ("[]", nil),
            (#""a text""#, "a text"), ("7", nil), ("", nil), ("  \r\n", nil), ("plain", "plain"),
            (
                #"{"detail":[{"loc":["body","locations",0,"latitude"],"msg":"too far north","input":91}]}"#,
                "too far north (body.locations.0.latitude)"
            ),
            (#"{"detail":[]}"#, nil), (#"{"cut":"of"#, #"{"cut":"of"#),
            ("<!DOCTYPE html><HTML><Title lang=en>No\n such page</TITLE>", "No such page"),
            ("<html><title></title>", nil), ("<html>no title", "no title"),
            ("\u{FEFF}<html><title>T</title>", "T"),
            ("<title>\u{130}</title>", "\u{130}"), ("a\u{1B}[31mb\u{202E}c\u{0}d\u{2028}e", "a[31mbcd e"),
        ] as [(String, String?)])
    func bodies(body: String, said: String?) {
        #expect(read(body) == said)
    }

    @Test("what is no text says nothing")
    func bytes() {
        #expect(ServerReason.read([0xFF, 0xFE, 0x00]) { $0 } == nil)
    }

    @Test("whatever a server sends, a row has little to keep")
    func bounds() {
        let long = String(repeating: "é", count: 5000)
        #expect(read(long) == String(repeating: "é", count: 200))
        let problem =
            #"{"title":"\#(long)","detail":"\#(long)","pointer":"\#(long)","index":\#(String(repeating: "9", count: 500))}"#
        #expect((read(problem) ?? "").unicodeScalars.count < 400)
        // Marks without end on one character.
        #expect(read("e" + String(repeating: "\u{301}", count: 5000))?.unicodeScalars.count == 200)
    }

    @Test("no half of a secret is left where the text is cut")
    func secrets() {
        let text = String(repeating: "x", count: 195) + "hunter2hunter2"
        #expect(read(text, hiding: "hunter2hunter2") == String(repeating: "x", count: 195) + "(set)")
        #expect(read(#"{"message":"key hun\u0074er2"}"#, hiding: "hunter2") == "key (set)")
        #expect(read("hun\u{0}ter2", hiding: "hunter2") == "(set)")
    }
}
