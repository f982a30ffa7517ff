import Foundation
import Testing

@testable import EnvelopeReader

@Suite("numbers") struct NumberTests {
    private func number(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBytes { bytes in
            var cursor = Cursor(bytes, limits: Limits())
            return try? cursor.number()
        }
    }

    @Test("each is the nearest Double, as strtod has it") func nearest() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<50_000 {
            let value = Double.random(in: -180...180, using: &random)
            let decimals = Int.random(in: 0...9, using: &random)
            for text in [
                value.description, String(format: "%.\(decimals)f", value), String(format: "%.17g", value),
            ] {
                #expect(number(text) == strtod(text, nil), "\(text)")
            }
        }
        for text in [
            "0", "-0", "1e22", "1E-22", "123456789012345678", "0.000000000000000000000000001", "5e-324",
            "1e308",
        ] {
            #expect(number(text) == strtod(text, nil), "\(text)")
        }
    }

    @Test(
        "what is none",
        arguments: ["", "-", "+1", ".5", "1.", "1e", "1e+", "00", "-01", "1e309", "Infinity", "0x10"])
    func none(text: String) {
        // A cursor stops behind what it has read: `0x10` is 0, and what follows is the caller's to refuse.
        #expect(number(text) == nil || text == "0x10")
    }
}
