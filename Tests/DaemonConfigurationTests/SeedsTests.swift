import Testing

@testable import DaemonConfiguration

@Suite("tokens in a copy of the configuration")
struct SeedsTests {
    private func removed(_ text: String) -> String {
        String(decoding: Seeds.removed(from: Array(text.utf8)), as: UTF8.self)
    }

    @Test(
        "are not in it, however they are written",
        arguments: [
            "[sync.auth]\naccess_token = \"hunter2\" # mine\nrefresh_token='hunter3'\nseed_epoch = 5\n",
            "[sync]\nurl = \"https://a.b\"\nauth.access_token = \"hunter2\"\n[sync.headers]\nX = \"y\"\n",
            "sync.auth.\"refresh_token\" = \"\"\"hunter2\"\"\"\n",
            "sync.auth.access_token = \"hunt\\u0065r2\"\n",
            "sync = { auth = { refresh_token = 'hunter2', access_token = \"hunter3\" }, url = \"https://a.b\" }\n",
        ])
    func removed(text: String) throws {
        let copy = removed(text)
        #expect(!copy.contains("hunt"))
        // All else is as it was.
        let workshop = try Workshop()
        var expected = try workshop.load(text).withoutSeeds.settings
        let settings = try workshop.load(copy).settings
        expected.sync?.auth?.accessToken = settings.sync?.auth?.accessToken
        expected.sync?.auth?.refreshToken = settings.sync?.auth?.refreshToken
        #expect(settings == expected)
        #expect(removed(copy) == copy)
    }

    @Test(
        "a file without any stays as it is",
        arguments: [
            "", "[sync]\nurl = \"https://a.b\"\n", "[sync.auth]\naccess_token_file = \"t\"\n",
            "[other]\naccess_token = \"t\"\n",
        ])
    func same(text: String) {
        #expect(removed(text) == text)
    }

    @Test("a configuration without them has none")
    func without() throws {
        let loaded = try Workshop().load(
            "[sync]\nurl = \"https://a.b\"\n[sync.auth]\naccess_token = \"a\"\nexpires_at = 5\nskew_margin_seconds = 7\n"
        )
        let auth = try #require(loaded.withoutSeeds.settings.sync?.auth)
        #expect(auth.accessToken == nil && auth.expiresAt == nil && auth.skewMarginSeconds == 7)
    }

    @Test(
        "who else can read a secret is told",
        arguments: [
            (0o600 as UInt32, 1 as UInt32, Exposure?.none), (0o640, 1, nil), (0o640, 2, .group(2)),
            (0o620, 2, .group(2)),
            (0o604, 1, .everybodyReads), (0o644, 2, .everybodyReads), (0o602, 1, .everybodyWrites),
            (0o400, 2, nil), (0o410, 2, nil),
        ])
    func exposure(mode: UInt32, group: UInt32, expected: Exposure?) {
        #expect(Exposure(mode: mode, group: group, ours: [1]) == expected)
        #expect(expected?.warning("/f", "a.b").contains("/f") != false)
    }

    @Test("also of a file that holds nothing else, unless systemd keeps it")
    func secretFiles() throws {
        let workshop = try Workshop()
        let text = "[sync]\nurl = \"https://a.b\"\n[sync.auth]\naccess_token_file = \"t\"\n"
        try workshop.write("x", to: "t", mode: 0o644)
        #expect(try workshop.load(text).warnings.map { $0.contains("everybody can read") } == [true])
        try workshop.write("x", to: "t", mode: 0o600)
        #expect(try workshop.load(text).warnings.isEmpty)
        try workshop.write("x", to: "cred/t", mode: 0o444)
        #expect(try workshop.load(text).warnings.isEmpty)
    }
}
