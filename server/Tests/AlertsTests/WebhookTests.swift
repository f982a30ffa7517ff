import Base
import ServerStore
import Testing

@testable import Alerts

@Suite("webhooks") struct WebhookTests {
    @Test("a signature is that of Standard Webhooks' own example") func signature() {
        #expect(
            Webhook.signature(
                id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
                body: Array(#"{"test": 2432232314}"#.utf8),
                secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
                == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(
        "nothing is signed with what is no secret",
        arguments: ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    func secrets(_ secret: String) throws {
        let id = try #require(UUIDv7("019eabdf-5200-7c3e-9f10-2a4b6c8d0e20"))
        #expect(Webhook.headers(id: id, time: Samples.time, body: [], secret: secret) == nil)
    }

    @Test("a new secret signs, and is another each time") func newSecret() throws {
        let id = try #require(UUIDv7("019eabdf-5200-7c3e-9f10-2a4b6c8d0e20"))
        let secret = Webhook.newSecret()
        #expect(secret != Webhook.newSecret() && secret.utf8.count == 6 + 44)
        let headers = try #require(Webhook.headers(id: id, time: Samples.time, body: [1], secret: secret))
        #expect(headers[0] == "webhook-id: 019eabdf-5200-7c3e-9f10-2a4b6c8d0e20")
        #expect(headers[1] == "webhook-timestamp: 1781000000")
    }

    @Test("a body tells the alert; its bytes are the same in each version") func body() throws {
        let id = try #require(UUIDv7("019eabdf-5200-7c3e-9f10-2a4b6c8d0e20"))
        let alert = Alert(
            id: id, rule: 1, device: 7, time: Samples.time, kind: "geofence",
            text: "van \"7\" has left Häfen\n",
            object: #"{"vehicle":7}"#)
        #expect(
            String(decoding: Webhook.body(of: alert), as: UTF8.self)
                == #"{"id":"019eabdf-5200-7c3e-9f10-2a4b6c8d0e20","type":"geofence","timestamp":"2026-06-09T10:13:20.000Z","text":"van \"7\" has left Häfen\u000a","data":{"vehicle":7}}"#
        )
    }

    @Test(
        "an address is by http or https, and says whether it is this machine",
        arguments: [
            ("https://hooks.example.org/a?b=c", true, false), ("http://localhost:8000/x", true, true),
            ("http://127.0.0.1/", true, true), ("HTTPS://[::1]:8443", true, true),
            ("https://u:p@127.0.0.1.example.org/", true, false), ("ftp://example.org/", false, false),
            ("https://", false, false), ("https:///x", false, false), ("https://a b/", false, false),
            ("https://example.org/\r\nX: y", false, false), ("file:///etc/passwd", false, false),
        ])
    func addresses(_ text: String, isValid: Bool, isLocal: Bool) {
        #expect((WebAddress.complaint(about: text) == nil) == isValid)
        if isValid { #expect(WebAddress.isLocal(WebAddress.host(text)) == isLocal) }
    }
}

enum Samples {
    /// 2026-06-09T10:13:20Z
    static let time = Timestamp(milliseconds: 1_781_000_000_000)
}

/// The same numbers each time, close to each other.
struct Steady: RandomNumberGenerator {
    var value: UInt64

    /// Never the same twice: what asks for a number may refuse one.
    mutating func next() -> UInt64 {
        defer { value = value > .max / 2 ? value - (1 << 52) : value + (1 << 52) }
        return value
    }
}

@Suite("back-off") struct BackOffTests {
    @Test(
        "from ten seconds to an hour, each twice the one before",
        arguments: [
            (1, 10.0), (2, 20), (3, 40), (4, 80), (8, 1280), (9, 2400), (10, 2400), (72, 2400), (0, 10),
        ] as [(Int64, Double)])
    func delays(_ attempts: Int64, _ least: Double) {
        var (low, high) = (Steady(value: 0), Steady(value: .max))
        #expect(abs(BackOff.alerts.delay(after: attempts, using: &low) - least) < least / 1000)
        let most = BackOff.alerts.delay(after: attempts, using: &high)
        #expect(most > least * 1.49 && most <= least * 1.5 && most <= BackOff.alerts.longest)
    }
}
