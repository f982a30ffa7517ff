package import Base
internal import CServerCrypto
internal import Envelope
internal import FoundationEssentials
package import ServerStore

/// What a webhook is sent, and how it can tell that it is ours: by the scheme of Standard Webhooks
/// (https://www.standardwebhooks.com), version 1.
package enum Webhook {
    private static let prefix = "whsec_"
    /// Bytes of a secret that we make; the standard asks for 24 to 64.
    private static let size = 32
    private static let sizes = 24...64

    /// A secret for a rule. Whoever has made the rule is shown it once.
    package static func newSecret() -> String {
        var bytes = [UInt8](repeating: 0, count: size)
        precondition(RAND_bytes(&bytes, Int32(size)) == 1, "libcrypto has no random numbers")
        return prefix + Data(bytes).base64EncodedString()
    }

    /// The body that tells of an alert: of one alert, always the same bytes.
    package static func body(of alert: Alert) -> [UInt8] {
        var text = Array(#"{"id":"\#(alert.id)","type":"#.utf8)
        JSONString.append(alert.kind, to: &text)
        text += Array(#","timestamp":"\#(alert.time.iso8601)","text":"#.utf8)
        JSONString.append(alert.text, to: &text)
        text += Array(#","data":"#.utf8)
        text += Array(alert.object.utf8)
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// The body that shows whether a rule's webhook arrives: nothing has happened.
    package static func test(of rule: AlertRule, id: UUIDv7, time: Timestamp) -> [UInt8] {
        var text = Array(#"{"id":"\#(id)","type":"test","timestamp":"\#(time.iso8601)","text":"#.utf8)
        JSONString.append(testText(of: rule), to: &text)
        text += Array(#","data":{"rule":{"id":\#(rule.id),"name":"#.utf8)
        JSONString.append(rule.name, to: &text)
        text += Array("}}}".utf8)
        return text
    }

    package static func testText(of rule: AlertRule) -> String {
        "a test of the rule \(rule.name): nothing has happened"
    }

    /// The lines of the head that name an alert, the time and the signature of both with the body.
    ///
    /// - Parameters:
    ///   - time: when it is sent, in whole seconds: a receiver may refuse what is old.
    ///   - secret: as `newSecret` makes it.
    /// - Returns: nil when the secret is none.
    package static func headers(
        id: UUIDv7, time: Timestamp, body: [UInt8], secret: String
    ) -> [String]? {
        guard let signature = signature(id: "\(id)", seconds: time.wholeSeconds, body: body, secret: secret)
        else { return nil }
        return [
            "webhook-id: \(id)", "webhook-timestamp: \(time.wholeSeconds)", "webhook-signature: \(signature)",
        ]
    }

    /// HMAC-SHA256 over id, seconds and body, in base64, behind the version of the scheme.
    static func signature(id: String, seconds: Int64, body: [UInt8], secret: String) -> String? {
        guard secret.hasPrefix(prefix),
            let key = Data(base64Encoded: String(secret.dropFirst(prefix.count))).map({ [UInt8]($0) }),
            sizes.contains(key.count)
        else { return nil }
        let text = Array("\(id).\(seconds).".utf8) + body
        var code = [UInt8](repeating: 0, count: 32)
        let done = cservercrypto_hmac(key, Int32(key.count), text, text.count, &code)
        precondition(done == 1, "libcrypto has no HMAC")
        return "v1," + Data(code).base64EncodedString()
    }
}
