import Base
import DaemonConfiguration
import Glibc
import Linux
import Support
import Testing
import Upload

@testable import Daemon

@Suite("the keeper of tokens")
struct TokenKeeperTests {
    private let directory: TemporaryDirectory
    private let rig: ReportRig
    private let endpoint: FakeTransport
    private let keeper: TokenKeeper
    private let now = instant(1000)

    init() throws {
        directory = try TemporaryDirectory()
        rig = try ReportRig()
        let endpoint = FakeTransport()
        self.endpoint = endpoint
        keeper = try Self.keeper(directory, rig, endpoint)
    }

    private static func keeper(
        _ directory: TemporaryDirectory, _ rig: ReportRig, _ endpoint: FakeTransport = FakeTransport(),
        on files: any Files = SystemFiles()
    ) throws -> TokenKeeper {
        TokenKeeper(
            store: TokenStore(
                directory: try StateDirectory(directory.file("state"), on: files), credentials: nil),
            port: rig.port, board: rig.board, clock: wallClock(), report: rig.report,
            transport: { endpoint }, now: instant(1000))
    }

    private func sync(access: String? = "a0", refreshURL: String? = nil) -> Settings.Sync {
        var sync = Settings.Sync()
        sync.url = "https://api.example.com/locations"
        var auth = Settings.Auth()
        auth.accessToken = access.map { Secret($0) }
        auth.refreshToken = Secret("r0")
        auth.refreshURL = refreshURL
        auth.refreshPayload = [Settings.Field(name: "refresh_token", value: Secret("{refreshToken}"))]
        sync.auth = auth
        return sync
    }

    @Test("without [sync.auth] everything can be sent, and nothing goes with it")
    func none() {
        var plain = sync()
        plain.auth = nil
        keeper.configure(plain, now: now)
        #expect(keeper.check(isForced: false, now: now) == .usable)
        #expect(keeper.authorise() == nil)
        #expect(!keeper.isActive)
        #expect(keeper.checkRefused(isForced: false, now: now) != .usable)
        guard case .failure = keeper.seed(Tokens(access: "a9"), now: instant(0)) else {
            Issue.record("tokens have been seeded without a configuration to use them by")
            return
        }
    }

    @Test("the seed of the configuration is on the disk, and survives a restart")
    func restart() throws {
        keeper.configure(sync(), now: now)
        #expect(keeper.check(isForced: false, now: now) == .usable)
        #expect(keeper.authorise() == "Bearer a0")
        #expect(keeper.isActive)
        guard case .success = keeper.seed(Tokens(access: "a1"), now: instant(0)) else {
            Issue.record("no seed")
            return
        }
        let next = try Self.keeper(directory, rig)
        next.configure(sync(), now: now)
        #expect(next.authorise() == "Bearer a1")
        #expect(rig.lines().isEmpty)
    }

    @Test("a refused token that nothing can renew is dead, and the next seed revives it")
    func dead() {
        keeper.configure(sync(), now: now)
        _ = keeper.authorise()
        #expect(keeper.checkRefused(isForced: false, now: now) == .dead)
        #expect(keeper.advice?.contains("beekonctl auth seed") == true)
        #expect(rig.report.snapshot.lastError?.contains("refuses the token") == true)
        #expect(keeper.state(now: now).word == .dead)
        _ = keeper.seed(Tokens(access: "a1"), now: instant(0))
        #expect(keeper.checkRefused(isForced: false, now: now) == .usable)
        #expect(keeper.advice == nil)
    }

    @Test("an endpoint that cannot be reached is left alone for a while", arguments: [false, true])
    func unreachable(isIdle: Bool) throws {
        let sync = sync(access: nil, refreshURL: "http://127.0.0.1:1/token")
        keeper.configure(sync, now: now)
        #expect(keeper.check(isForced: false, now: now) == .due(hasToken: false))
        #expect(keeper.begin(with: RequestFactory(sync, version: "1"), isIdle: isIdle, now: now) == nil)
        #expect(keeper.isExchanging && keeper.advance(isStopping: false, now: now) == nil)
        endpoint.outcomes = [.failure(TransportFailure(kind: .network, message: "no route"))]
        guard case .resting(_, isNetwork: true) = keeper.advance(isStopping: false, now: now) else {
            Issue.record("the exchange has not failed for the network")
            return
        }
        #expect(!keeper.isExchanging)
        // One for its own sake says nothing about uploads.
        let error = rig.report.snapshot.lastError
        #expect(isIdle ? error == nil : error?.hasPrefix("the token could not be refreshed") == true)
        // A drain reports its own end.
        #expect(rig.lines().count == (isIdle ? 1 : 0))
        guard case .resting(_, isNetwork: true) = keeper.check(isForced: false, now: now) else {
            Issue.record("nothing has to be waited for")
            return
        }
        #expect(keeper.check(isForced: true, now: now) == .due(hasToken: false))
        keeper.networkReturned()
        #expect(keeper.check(isForced: false, now: now) == .due(hasToken: false))
    }

    @Test("tokens that are damaged are moved aside, and the board says so")
    func damaged() throws {
        keeper.configure(sync(), now: now)
        try directory.write("state/tokens", [1, 2, 3])
        let next = try Self.keeper(directory, rig)
        next.configure(sync(access: "a5"), now: now)
        #expect(next.authorise() == "Bearer a5")
        #expect(rig.board.damagedFiles == ["tokens"])
        _ = next.seed(Tokens(access: "a6"), now: instant(0))
        #expect(rig.board.damagedFiles.isEmpty)
    }

    @Test("tokens whose key is away are locked until it is back")
    func keyAway() throws {
        keeper.configure(sync(), now: now)
        _ = keeper.seed(Tokens(access: "a1"), now: instant(0))
        let (key, away) = (directory.file("state/beekond.key"), directory.file("away"))
        rename(key, away)
        let next = try Self.keeper(directory, rig)
        next.configure(sync(), now: now)
        #expect(next.check(isForced: false, now: now) == .dead)
        #expect(next.state(now: now).death == .key)
        #expect(rig.lines().count == 1)
        #expect(next.check(isForced: true, now: now) == .dead)
        #expect(rig.lines().isEmpty)
        rename(away, key)
        #expect(next.check(isForced: false, now: now) == .usable)
        #expect(next.authorise() == "Bearer a1")
        #expect(next.advice == nil)
    }

    @Test("what is configured while tokens cannot be read is used in its order", arguments: [false, true])
    func configuredMeanwhile(areStored: Bool) throws {
        let folder = try TemporaryDirectory()
        if areStored {
            try Self.keeper(folder, rig).configure(sync(access: "stored"), now: now)
        }
        let files = UnreadableFiles("tokens")
        let other = try Self.keeper(folder, rig, on: files)
        files.fail(true)
        for (access, host) in [("a0", "api"), ("a1", "new"), ("a1", "newest")] {
            var moved = sync(access: access)
            moved.url = "https://\(host).example.com/locations"
            other.configure(moved, now: now)
        }
        #expect(other.authorise() == nil)
        files.fail(false)
        // Those of the configuration were given for the host before.
        #expect(other.check(isForced: false, now: now) == .dead)
        #expect(other.authorise() == nil)
        var back = sync(access: "a2")
        back.url = "https://newest.example.com/locations"
        other.configure(back, now: now)
        #expect(other.authorise() == "Bearer a2")
    }

    @Test("tokens that the disk does not give are read again later", arguments: ["tokens", "beekond.key"])
    func unreadable(name: String) throws {
        keeper.configure(sync(), now: now)
        _ = keeper.seed(Tokens(access: "a1"), now: instant(0))
        for isIdle in [false, true] {
            let files = UnreadableFiles(name)
            let next = try Self.keeper(directory, rig, on: files)
            files.fail(true)
            next.configure(sync(), now: now)
            #expect(next.check(isForced: false, now: now) == .dead)
            #expect(next.authorise() == nil)
            #expect(rig.board.damagedFiles.isEmpty)
            files.fail(false)
            if isIdle {
                let due = now.advanced(bySeconds: 60)
                #expect(next.idleDue(now: now) == due)
                #expect(next.authorise() == nil)
                #expect(next.idleDue(now: due) == nil)
            } else {
                #expect(next.check(isForced: false, now: now) == .usable)
            }
            #expect(next.authorise() == "Bearer a1")
        }
    }
}
