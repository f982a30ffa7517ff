import Testing

@testable import EnvelopeReader

@Suite("small bodies") struct FieldsReaderTests {
    private func read(_ bytes: [UInt8]) throws(Fault) -> [String: FieldValue] {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(Fault) in try FieldsReader.read(bytes) }
        }.get()
    }

    @Test("values of each type") func types() throws {
        let text =
            #" {"a":"é\n\u00e9","n":-5,"x":1.5,"big":99999999999999999999,"o":{"p":[1]},"t":true,"z":null} "#
        let values = try read(Array(text.utf8))
        #expect(values["a"] == .text("é\né") && values["n"] == .number(-5))
        for name in ["x", "big", "o", "t", "z"] { #expect(values[name] == .other) }
        #expect(try read(Array("{}".utf8)).isEmpty)
        #expect(try read(Array(#"{"n":142.0}"#.utf8)) == ["n": .number(142)])
    }

    @Test(
        "what is none, and where",
        arguments: [
            ("", ""), ("[]", ""), ("{", ""), ("{}x", ""), (#"{"a":1,"a":2}"#, "/a"),
            (#"{"a":"\ud800"}"#, "/a"),
            (#"{"a":"\#u{1}"}"#, "/a"), (#"{"a":01}"#, "/a"), (#"{"a":tru}"#, "/a"), (#"{"a/~":}"#, "/a~1~0"),
            (#"{"a":\#(String(repeating: "[", count: 20))"#, "/a"),
            (#"{"a":1\#(String(repeating: "0", count: 100))}"#, "/a"),
            (#"{"a" 1}"#, ""), (#"{"a":1,}"#, ""),
        ]) func faults(text: String, pointer: String)
    {
        #expect { try read(Array(text.utf8)) } throws: { ($0 as? Fault)?.pointer == pointer }
    }

    @Test("what is no UTF-8, and too many fields") func others() {
        #expect(throws: Fault.self) { try read(Array("{\"a\":\"".utf8) + [0xFF] + Array("\"}".utf8)) }
        let many = (0...100).map { "\"f\($0)\":1" }.joined(separator: ",")
        #expect { try read(Array("{\(many)}".utf8)) } throws: { ($0 as? Fault)?.kind == .tooLarge }
    }
}
