import Base
import Testing

@testable import Accounts

@Suite("tokens") struct TokenTests {
    @Test("a token reads back, and is nobody else's") func text() throws {
        let secret = Secret(.access, of: 17)
        #expect(secret.text.hasPrefix("bka.17.") && secret.text.utf8.count == 50)
        let read = try #require(Secret(secret.text))
        #expect(read == secret && read.matches(secret.hash))
        #expect(!Secret(.access, of: 17).matches(secret.hash))
        #expect(!secret.matches([]) && !secret.matches(Array(secret.hash.dropLast())))
        #expect(!String(decoding: secret.hash, as: UTF8.self).contains(secret.text))
    }

    @Test(
        "what is no token",
        arguments: [
            "", "bka.17", "bkx.17.", "bka.-1.", "bka.0.", "bka.017.", "bka.9223372036854775808.", "Bka.17.",
        ])
    func none(start: String) {
        #expect(Secret(start + String(repeating: "A", count: 43)) == nil)
        #expect(Secret("bka.17." + String(repeating: "A", count: 43)) != nil)
        #expect(Secret("bka.17." + String(repeating: "A", count: 42) + "=") == nil)
        #expect(Secret("bka.17." + String(repeating: "A", count: 44)) == nil)
    }

    // MARK: Rotation

    private let start = Timestamp(milliseconds: 1_781_000_000_000)

    private func after(_ seconds: Double) -> Timestamp { start.advanced(bySeconds: seconds) }

    private func record(
        _ secret: Secret, expires: Double? = nil, used: Double? = nil, parent: Secret? = nil
    ) -> TokenRecord {
        TokenRecord(
            hash: secret.hash, kind: secret.kind, created: start, expires: expires.map { after($0) },
            used: used.map { after($0) }, parent: parent?.hash)
    }

    @Test("a token is good until it expires, as what it is, of a device that was not revoked") func validity()
    {
        let (access, refresh) = (Secret(.access, of: 1), Secret(.refresh, of: 1))
        var tokens = DeviceTokens(records: [record(access, expires: 100), record(refresh)])
        #expect(tokens.valid(access, now: after(99)) != nil)
        #expect(tokens.valid(access, now: after(100)) == nil)
        #expect(tokens.valid(refresh, now: after(1e9)) != nil)
        #expect(tokens.valid(Secret(.access, of: 1), now: start) == nil)
        #expect(tokens.exchange(access, now: start) == nil)
        tokens.isRevoked = true
        #expect(tokens.valid(access, now: start) == nil && tokens.exchange(refresh, now: start) == nil)
    }

    @Test("whoever lost the answer exchanges the old token again, however late; what never arrived ends")
    func lost() {
        let (old, access, refresh) = (
            Secret(.refresh, of: 1), Secret(.access, of: 1), Secret(.refresh, of: 1)
        )
        let tokens = DeviceTokens(records: [
            record(old, used: 0), record(access, parent: old), record(refresh, parent: old),
        ])
        let rotation = tokens.exchange(old, now: after(1e8))
        #expect(rotation.map { Set($0.ends) } == [access.hash, refresh.hash])
    }

    @Test(
        "once a successor was used, the old token is good for the grace, and then never again",
        arguments: [true, false])
    func spent(byAccess: Bool) {
        let (old, access, refresh) = (
            Secret(.refresh, of: 1), Secret(.access, of: 1), Secret(.refresh, of: 1)
        )
        let tokens = DeviceTokens(records: [
            record(old, used: 0), record(access, used: byAccess ? 10 : nil, parent: old),
            record(refresh, used: byAccess ? nil : 10, parent: old),
        ])
        #expect(tokens.exchange(old, now: after(70)) != nil)
        #expect(tokens.exchange(old, now: after(70.001)) == nil)
        // What was used does not end by another exchange.
        let ends = tokens.exchange(old, now: after(70))?.ends
        #expect(ends == [byAccess ? refresh.hash : access.hash])
    }

    @Test("what nobody can need any more is removed: expired tokens, and the token before the last")
    func removal() {
        let (first, second, expired) = (
            Secret(.refresh, of: 1), Secret(.refresh, of: 1), Secret(.access, of: 1)
        )
        let tokens = DeviceTokens(records: [
            record(first, used: 0), record(second, used: 10, parent: first),
            record(expired, expires: 50, used: 10, parent: first),
        ])
        #expect(tokens.exchange(second, now: after(20))?.ends == [])
        #expect(tokens.exchange(second, now: after(100)).map { Set($0.ends) } == [first.hash, expired.hash])
    }
}
