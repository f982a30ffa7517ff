import Base
import Testing
import Tracking

@testable import Upload

@Suite("what an answer means") struct VerdictTests {
    @Test("the table of the contract, for every code") func table() {
        for status in 100...599 {
            let expected: Verdict =
                switch status {
                case 200..<300: .accepted
                case 400, 422: .rejected
                case 401, 403: .unauthorised
                case 408, 429, 500...: .transient(retryAfter: 7)
                default: .permanent
                }
            #expect(Verdict(status: status, retryAfter: 7) == expected)
        }
    }

    @Test(
        "Retry-After in every form",
        arguments: [
            ("120", 120.0), (" 0", 0), ("999999999999999999999999", 3600), ("-5", nil), ("1.5", nil),
            ("", nil),
            ("soon", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Mon, 15 Jun 2026 12:35:00 GMT", 60),
            ("Mon, 15 Jun 2027 12:35:00 GMT", 3600), ("Mon, 15 Jux 2026 12:35:00 GMT", nil),
            ("Mon, 15 Jun 2026 12:35:00 CET", nil), (String(repeating: "1", count: 100), nil),
        ] as [(String, Double?)])
    func retryAfter(text: String, seconds: Double?) throws {
        let time = try #require(Timestamp(iso8601: "2026-06-15T12:34:00.000Z"))
        #expect(RetryAfter.seconds(text, at: time) == seconds)
    }
}
