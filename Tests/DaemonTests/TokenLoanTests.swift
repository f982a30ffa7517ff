import Base
import DaemonConfiguration
import Linux
import Support
import Testing
import Upload

@testable import Daemon

@Suite("tokens of main that others use")
struct TokenLoanTests {
    private let directory: TemporaryDirectory
    private let rig: ReportRig
    private let shared: SharedTokens
    private let main: TokenKeeper
    private let home: TokenKeeper
    private let files = UnreadableFiles("tokens")
    private let endpoint = FakeTransport()
    private let now = instant(1000)

    init() throws {
        directory = try TemporaryDirectory()
        rig = try ReportRig()
        let shared = SharedTokens(waking: rig.port.commands.wakeup)
        self.shared = shared
        let state = try StateDirectory(directory.file("state"), on: files)
        let (rig, now, endpoint) = (rig, now, endpoint)
        func keeper(_ port: UploaderPort) -> TokenKeeper {
            TokenKeeper(
                store: TokenStore(directory: state, credentials: nil, destination: port.name), port: port,
                board: rig.board, clock: wallClock(), report: rig.report, shared: shared,
                transport: { endpoint }, now: now)
        }
        main = keeper(rig.port)
        home = keeper(try UploaderPort(try #require(DestinationName("home"))))
    }

    private func sync(
        _ host: String = "api.example.com", access: String? = nil, refreshURL: String? = nil
    ) -> Settings.Sync {
        var sync = Settings.Sync()
        sync.url = "https://\(host)/locations"
        guard access != nil || refreshURL != nil else { return sync }
        var auth = Settings.Auth()
        auth.accessToken = access.map { Secret($0) }
        auth.refreshToken = Secret("r0")
        auth.refreshURL = refreshURL
        auth.refreshPayload = [Settings.Field(name: "refresh_token", value: Secret("{refreshToken}"))]
        sync.auth = auth
        return sync
    }

    private func borrow() { home.configure(sync(), sharesMain: true, now: now) }

    @Test("what main has is used, and nothing of it is written for the other")
    func used() throws {
        borrow()
        #expect(home.isActive && home.check(isForced: false, now: now) == .due(hasToken: false))
        main.configure(sync(access: "a0", refreshURL: "https://api.example.com/token"), now: now)
        #expect(home.check(isForced: false, now: now) == .usable)
        #expect(home.authorise() == "Bearer a0")
        #expect(home.state(now: now).word == .valid)
        #expect(home.idleDue(now: now) == nil)
        guard case .success = main.seed(Tokens(access: "a1", refresh: "r1"), now: instant(0)) else {
            Issue.record("no seed")
            return
        }
        // The other sees new ones at once.
        #expect(home.checkRefused(isForced: false, now: now) == .usable)
        #expect(home.authorise() == "Bearer a1")
        let names = try StateDirectory(directory.file("state")).names()
        #expect(names.filter { $0.hasPrefix("tokens") } == ["tokens"])
    }

    @Test("one that is refused asks main, which then has something to do, once")
    func refused() {
        main.configure(sync(access: "a0", refreshURL: "https://api.example.com/token"), now: now)
        borrow()
        _ = home.authorise()
        #expect(home.checkRefused(isForced: false, now: now) == .due(hasToken: true))
        #expect(main.check(isForced: false, now: now) == .usable)
        shared.demand(afterRefusalOf: "Bearer other")
        #expect(main.check(isForced: false, now: now) == .usable)
        shared.demand(afterRefusalOf: "Bearer a0")
        #expect(main.idleDue(now: now) == now)
        #expect(main.check(isForced: false, now: now) == .due(hasToken: true))
    }

    @Test("a new pair is shown once it is on the disk, also when that takes it late")
    func onDisk() {
        let sync = sync(access: "a0", refreshURL: "https://api.example.com/token")
        main.configure(sync, now: now)
        borrow()
        _ = main.authorise()
        #expect(main.checkRefused(isForced: false, now: now) == .due(hasToken: true))
        #expect(main.begin(with: RequestFactory(sync, version: "1"), isIdle: false, now: now) == nil)
        #expect(main.advance(isStopping: false, now: now) == nil)
        endpoint.outcomes = [.answered(200, #"{"access_token":"a1","refresh_token":"r1"}"#)]
        files.fail(true)
        #expect(main.advance(isStopping: false, now: now) == .unsaved)
        #expect(main.check(isForced: false, now: now) == .unsaved)
        #expect(home.authorise() == "Bearer a0")
        files.fail(false)
        #expect(main.check(isForced: false, now: now) == .usable)
        #expect(home.authorise() == "Bearer a1")
    }

    @Test("one that nothing can renew is dead")
    func dead() {
        main.configure(sync(access: "a0"), now: now)
        borrow()
        _ = home.authorise()
        #expect(home.checkRefused(isForced: false, now: now) == .dead)
        shared.demand(afterRefusalOf: "Bearer a0")
        #expect(main.check(isForced: false, now: now) == .usable && main.idleDue(now: now) == nil)
    }

    @Test("a token for another server is none, whichever settings arrive first")
    func otherServer() {
        main.configure(sync("old.example.com", access: "a0"), now: now)
        borrow()
        #expect(home.authorise() == nil)
        #expect(home.check(isForced: false, now: now) == .due(hasToken: false))
        // However it is spelt.
        main.configure(sync("API.example.com.:443", access: "b0"), now: now)
        #expect(home.authorise() == "Bearer b0")
        main.configure(nil, now: now)
        #expect(home.authorise() == nil)
    }
}
