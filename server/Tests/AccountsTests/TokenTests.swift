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
        _ secret: Secret, pair: Int64 = 1, expires: Double? = nil, used: Double? = nil, ended: Double? = nil
    ) -> TokenRecord {
        TokenRecord(
            hash: secret.hash, kind: secret.kind, pair: pair, expires: expires.map { after($0) },
            used: used.map { after($0) }, ended: ended.map { after($0) })
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

    @Test("of a pair that has ended, the access token is good for a minute, the refresh token for nothing")
    func ended() {
        let (access, refresh) = (Secret(.access, of: 1), Secret(.refresh, of: 1))
        let tokens = DeviceTokens(records: [
            record(access, used: 0, ended: 10), record(refresh, used: 0, ended: 10),
        ])
        #expect(tokens.valid(access, now: after(69.999)) != nil)
        #expect(tokens.valid(access, now: after(70)) == nil)
        #expect(
            tokens.valid(refresh, now: after(10)) == nil && tokens.exchange(refresh, now: after(10)) == nil)
    }

    @Test("what a clock that was ahead has ended has ended, and what it has made is exchanged soon")
    func wrongClock() {
        let (access, refresh) = (Secret(.access, of: 1), Secret(.refresh, of: 1))
        let far = 400 * 86_400.0
        var tokens = DeviceTokens(records: [record(access, expires: 2 * far, used: far, ended: far)])
        #expect(tokens.valid(access, now: after(0)) == nil)
        // Servers whose clocks differ a little.
        tokens.records[0].ended = after(1)
        #expect(tokens.valid(access, now: after(0)) != nil)
        tokens = DeviceTokens(records: [record(access, expires: far + 100), record(refresh)])
        for index in tokens.records.indices { tokens.records[index].created = after(far) }
        #expect(tokens.valid(access, now: after(0)) == nil && tokens.valid(access, now: after(far)) != nil)
        #expect(tokens.valid(refresh, now: after(0)) != nil)
        // Where the clock is known to be behind, what was made before it fell back is as good as it was.
        #expect(tokens.valid(access, now: after(0), latest: after(far)) != nil)
    }

    @Test("a refresh token buys one more pair however late, and beyond 64 the oldest offered ends")
    func offers() {
        let current = Secret(.refresh, of: 1)
        var tokens = DeviceTokens(records: [record(current, pair: 7, used: 0)])
        for number in 8..<8 + Int64(DeviceTokens.mostOffered) {
            #expect(
                tokens.exchange(current, now: after(1e8)) == DeviceTokens.Rotation(pair: number, ends: nil))
            tokens.records += [
                record(Secret(.access, of: 1), pair: number), record(Secret(.refresh, of: 1), pair: number),
            ]
        }
        #expect(tokens.exchange(current, now: after(1e8)) == DeviceTokens.Rotation(pair: 72, ends: 8))
    }
}
