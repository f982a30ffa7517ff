import Foundation
import Testing

@testable import Envelope

@Suite("JSON in one way, and Base64") struct CanonicalJSONTests {
    @Test(
        "written without spaces, in the order of code points, and read back",
        arguments: [
            (#" {"b":1, "a": [ true,null ,"x\u0041\/"] , "":{ }} "#, #"{"":{},"a":[true,null,"xA/"],"b":1}"#),
            (#"{"ｚ":1.50,"😀":-0,"z":1E+2}"#, #"{"z":1E+2,"ｚ":1.50,"😀":-0}"#), ("[]", "[]"),
            (#""\u0001\"\\""#, #""\u0001\"\\""#),
        ])
    func canonical(text: String, expected: String) throws {
        let value = try #require(JSONReader.read(Array(text.utf8)))
        #expect(value.canonical == expected)
        #expect(JSONReader.read(Array(expected.utf8)) == value)
    }

    @Test("depth, size and repeated names are refused where the caller says so")
    func limits() {
        var limits = JSONReader.Limits()
        limits.depth = 16
        let deep = { (levels: Int) in
            Array((String(repeating: "[", count: levels) + "1" + String(repeating: "]", count: levels)).utf8)
        }
        #expect(JSONReader.read(deep(16), limits: limits) != nil)
        #expect(JSONReader.read(deep(17), limits: limits) == nil)
        #expect(JSONReader.read(deep(17)) != nil && JSONReader.read(deep(33)) == nil)
        let twice = Array(#"{"a":{"b":1,"\u0062":2}}"#.utf8)
        #expect(JSONReader.read(twice)?[path: "a.b"] == .number("2"))
        limits.allowsDuplicates = false
        #expect(JSONReader.read(twice, limits: limits) == nil)
        limits.bytes = 3
        #expect(JSONReader.read(Array("123".utf8), limits: limits) != nil)
        #expect(JSONReader.read(Array("1234".utf8), limits: limits) == nil)
    }

    @Test("Base64 as Foundation writes it, and nothing else")
    func base64() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 73 + count) }
            #expect(Base64.decode(Data(bytes).base64EncodedData()) == bytes)
        }
        for text in [
            "A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "AA=A", "AAAA====", "AA AA", "AAA_", "=AAA",
        ] {
            #expect(Base64.decode(text.utf8) == nil, "\(text)")
        }
    }
}
