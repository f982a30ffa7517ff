import Base
import ControlProtocol
import Testing

@testable import ControlTool

@Suite("tokens at the command line")
struct TokenTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func parse(_ text: String) throws -> Wire.SeedAuth.Parameters {
        try TokenSeed.parse(Array(text.utf8), now: Self.now)
    }

    @Test(
        "are read as one line, or as the answer of a token endpoint",
        arguments: [
            ("abc", Wire.SeedAuth.Parameters(accessToken: "abc")),
            ("  a b \r\n\n", .init(accessToken: "a b")),
            (#"{"access_token":"a"}"#, .init(accessToken: "a")),
            (#" {"refreshToken":"r","x":[1]}"#, .init(refreshToken: "r")),
            (
                #"{"access_token":"a","refresh_token":"r","expires_in":60}"#,
                .init(accessToken: "a", refreshToken: "r", expiresAt: 1_800_000_060)
            ),
            (#"{"token":"a","expires_at":"5"}"#, .init(accessToken: "a", expiresAt: 5)),
            (#"{"token":"a","expires_at":-5,"expires_in":"x"}"#, .init(accessToken: "a")),
            (#"{"token":"a","expires_at":7,"expires_in":9}"#, .init(accessToken: "a", expiresAt: 7)),
        ])
    func parsed(text: String, expected: Wire.SeedAuth.Parameters) throws {
        #expect(try parse(text) == expected)
    }

    @Test(
        "are refused with an exit code, and are not repeated",
        arguments: [
            "", "\n", "hunter2\nhunter2", "{", "{}", "{\"access_token\":5}", "[\"hunter2\"]\n2",
            "a\u{1B}hunter2",
        ])
    func refused(text: String) {
        let failure = #expect(throws: Failure.self) { try parse(text) }
        #expect(failure?.exitCode == 65)
        #expect(failure?.message.contains("hunter2") == false)
    }

    @Test("absurd input does not crash it")
    func bounds() throws {
        #expect(throws: Failure.self) { try TokenSeed.parse([0xFF], now: Self.now) }
        #expect(throws: Failure.self) {
            try TokenSeed.parse([UInt8](repeating: 97, count: TokenSeed.limit + 1), now: Self.now)
        }
        #expect(try parse(#"{"token":"a","expires_in":9223372036854775807}"#).expiresAt != nil)
    }

    @Test(
        "their state is told, with what to do",
        arguments: [
            (Wire.AuthStatus(state: "none", failures: 0), "[sync.auth]"),
            (.init(state: "valid", expiresAt: "2027-01-15T09:00:00.000Z", failures: 0), "expires in 1 h"),
            (
                .init(state: "valid", lastRefresh: "2027-01-15T07:00:00.000Z", failures: 0),
                "refreshed 1 h 00 min ago"
            ),
            (.init(state: "breaker_open", failures: 4), "refresh_url"),
            (.init(state: "dead", reason: "refused", failures: 0), "auth seed"),
            (.init(state: "dead", reason: "no_token", failures: 0), "response_mapping"),
            (.init(state: "dead", reason: "rotation_interrupted", failures: 0), "cut off"),
            (.init(state: "dead", reason: "no_refresh", failures: 0), "nothing can refresh"),
            (.init(state: "dead", reason: "host_changed", failures: 0), "another host"),
            (.init(state: "dead", reason: "key", failures: 0), "beekond.key"),
            (.init(state: "dead", reason: "some\u{1B}thing", failures: 0), "auth seed"),
        ])
    func text(auth: Wire.AuthStatus, hint: String) {
        let owner = Wire.Destination(
            name: "main", orphaned: false, dropped: 0, sync: ScreenSamples.sync, auth: auth)
        let text = AuthText.lines(
            owner, clock: LocalClock(now: Self.now, zone: .utc), palette: Palette(enabled: false)
        ).joined(separator: " ")
        #expect(text.contains(hint), "\(text)")
        #expect(!text.contains("\u{1B}"))
    }
}
