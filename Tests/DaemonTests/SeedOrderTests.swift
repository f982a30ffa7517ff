import DaemonConfiguration
import Linux
import Storage
import Support
import Testing
import Upload

@testable import Daemon

/// Tokens belong to the host of the settings under which they were given.
@Suite("new tokens and new settings")
struct SeedOrderTests {
    private let workshop: Workshop
    private let uploader: Uploader
    private var hub: Hub { workshop.hub }
    private let pair = Tokens(access: "secret")

    init() throws {
        workshop = try Workshop()
        let tokens = TokenStore(directory: try StateDirectory(workshop.state), credentials: nil)
        uploader = try #require(
            Uploader(
                port: workshop.hub.uploaders.main, hub: workshop.hub,
                inForce: Self.settings("a", revision: 0), installID: "i",
                tokens: tokens, now: instant(0)))
        uploader.tokens.configure(Self.settings("a", revision: 0).settings.sync, now: instant(0))
    }

    private static func settings(_ host: String, revision: Int) -> SettingsInForce {
        var settings = Settings()
        var sync = Settings.Sync()
        sync.url = "https://\(host).example.com/"
        sync.auth = Settings.Auth()
        settings.sync = sync
        return SettingsInForce(revision: revision, settings: settings)
    }

    private func put(_ host: String, _ revision: Int) {
        hub.uploaders.main.settings.put(Self.settings(host, revision: revision))
    }

    private func post(for host: String, _ revision: Int) {
        #expect(
            hub.uploaders.main.commands.post(
                .seed(pair, for: Self.settings(host, revision: revision), revision)))
    }

    private var host: String? { uploader.sync?.url }

    @Test("later settings for another host do not overtake tokens: these are gone with their host")
    func earlier() {
        post(for: "a", 0)
        put("b", 1)
        uploader.runCommands(now: instant(1))
        #expect(host == "https://b.example.com/")
        #expect(
            uploader.tokens.state(now: instant(1)).death == .hostChanged && uploader.tokens.authorise() == nil
        )
    }

    @Test("tokens for new settings are not taken for the old ones' host")
    func later() {
        put("b", 1)
        post(for: "b", 1)
        uploader.runCommands(now: instant(1))
        #expect(host == "https://b.example.com/")
        #expect(
            uploader.tokens.state(now: instant(1)).death == nil
                && uploader.tokens.authorise() == "Bearer secret")
    }

    @Test("tokens bring the settings along that were replaced before they were taken")
    func replaced() {
        put("b", 1)
        post(for: "b", 1)
        put("c", 2)
        uploader.runCommands(now: instant(1))
        #expect(host == "https://c.example.com/")
        #expect(
            uploader.tokens.state(now: instant(1)).death == .hostChanged && uploader.tokens.authorise() == nil
        )
        // Nothing older comes into force after that.
        put("b", 1)
        uploader.runCommands(now: instant(2))
        #expect(host == "https://c.example.com/")
    }
}
