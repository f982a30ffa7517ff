import Base
import Glibc
import Linux
import Storage
import Support
import Synchronization
import Testing

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// An uploader with a real database and a server of no network, turned by hand.
final class UploaderBench {
    let workshop: Workshop
    let server = FakeTransport()
    /// Takes the exchanges of tokens.
    let endpoint = FakeTransport()
    let uploader: Uploader
    private(set) var now = 0.0
    private var revision = 0

    var hub: Hub { workshop.hub }
    var port: UploaderPort { hub.uploaders.main }
    var pending: Int { hub.store.counts()[.main]?.pending ?? 0 }
    var rejected: Int { hub.store.counts()[.main]?.rejected ?? 0 }

    init(_ settings: Settings) throws {
        workshop = try Workshop()
        let tokens = TokenStore(directory: try StateDirectory(workshop.state), credentials: nil)
        // The first is the one for batches.
        var transports = [server, endpoint]
        var random = SeededGenerator(seed: 7)
        let next: () -> FakeTransport? = { transports.count > 1 ? transports.removeFirst() : transports[0] }
        guard
            let uploader = Uploader(
                port: workshop.hub.uploaders.main, hub: workshop.hub,
                inForce: SettingsInForce(settings: settings), installID: "i", tokens: tokens, transport: next,
                random: RandomSource { random.next() }, now: instant(0))
        else { throw SetUpFailed(operation: "uploader", code: 0) }
        self.uploader = uploader
    }

    func store(_ count: Int) throws {
        for second in 0..<count { _ = try hub.store.insert(try workshop.location(Double(second))) }
    }

    func deleteAll() throws {
        var deletion = try hub.store.beginDeletion(before: nil)
        while !deletion.isFinished { try hub.store.proceed(with: &deletion) }
    }

    /// One turn, with what the loop does after it.
    ///
    /// - Parameter seconds: that it has taken whenever it looks.
    @discardableResult
    func turn(after seconds: Double = 0) -> Rest? {
        let rest = uploader.turn(now: instant(now), stopwatch: stopwatch(seconds), after: Rest())
        uploader.endTurn(now: instant(now))
        return rest
    }

    /// As many turns as there is something to do at once.
    ///
    /// - Returns: what it rests for then; nil: it has ended.
    @discardableResult
    func run() -> Rest? {
        for _ in 0..<1000 {
            guard let rest = turn() else { return nil }
            if rest.end != Rest.none.end { return rest }
        }
        Issue.record("it does not come to rest")
        return nil
    }

    /// Until nothing is under way, whatever the server says to what it gets.
    func run(answering outcomes: HTTPOutcome...) {
        server.outcomes += outcomes
        run()
    }

    func pass(_ seconds: Double) {
        now += seconds
    }

    /// A client asks for an attempt.
    func sync() {
        #expect(port.commands.post(.sync(7)))
    }

    /// What clients have been told about their attempts.
    func results() -> [SyncResult] {
        hub.main.takeAll().compactMap { message in
            guard case .completed(7, .success(.synced(let result))) = message else { return nil }
            return result
        }
    }

    func configure(_ settings: Settings) {
        revision += 1
        port.settings.put(SettingsInForce(revision: revision, settings: settings))
    }

    static func settings(_ change: (inout Settings.Sync) -> Void = { _ in }) -> Settings {
        var settings = Settings()
        var sync = Settings.Sync()
        sync.url = "https://a.example/"
        change(&sync)
        settings.sync = sync
        return settings
    }
}

/// What an answer leads to, as docs/upload.md has it.
struct AnswerCase: CustomTestStringConvertible, Sendable {
    /// The first cell of the table there.
    let row: String
    let outcome: HTTPOutcome
    /// How the attempt ends, in the words of the status.
    var failure: String?
    var isRetried = false
    /// Pending rows, of three.
    var pending = 3
    var rejected = 0
    var demand = Demand.none
    /// How many requests there are.
    var requests = 1

    enum Demand { case none, batch, member }

    var testDescription: String { "\(row): \(outcome)".prefix(100).description }

    private static let transient = "408, 429, 5xx, timeouts, network and TLS errors"
    private static let other = "anything else: 3xx, 404, 413, …"

    static let table: [AnswerCase] =
        [200, 201, 202, 204, 299].map { AnswerCase(row: "2xx", outcome: .answered($0), pending: 0) } + [
            AnswerCase(
                row: "2xx with a page, see below", outcome: .answered(200, "<!DOCTYPE html><html>"),
                failure: "page"),
            AnswerCase(
                row: "2xx that begins with `<br />` and `<b>`: PHP printed an error before its answer",
                outcome: .answered(200, "<br />\n<b>Warning</b>: x"), failure: "php_error"),
            AnswerCase(
                row: "2xx without `{\"batch_id\": \"…\"}` of this batch, with `require_ack = true`",
                outcome: .answered(200), failure: "no_ack", demand: .batch),
            AnswerCase(
                row: "2xx whose `accept_member` is not `accept_value`, or is missing",
                outcome: .answered(200, #"{"result":"error"}"#), failure: "refused", demand: .member),
            AnswerCase(
                row: "2xx whose `accept_member` is not `accept_value`, or is missing",
                outcome: .answered(200, #"{"result":"ok"}"#), pending: 0, demand: .member),
        ]
        + [400, 422].map {
            AnswerCase(row: "400, 422", outcome: .answered($0), pending: 0, rejected: 3)
        } + [401, 403].map { AnswerCase(row: "401, 403", outcome: .answered($0), failure: "auth") }
        + [408, 429, 500, 502, 503, 504, 599].map {
            AnswerCase(row: transient, outcome: .answered($0), isRetried: true)
        }
        + [HTTPOutcome.lost(), .lost(isTimeout: true)].map {
            AnswerCase(row: transient, outcome: $0, isRetried: true)
        }
        + [301, 302, 303, 307, 308, 404, 405, 410, 413, 414, 431].map {
            AnswerCase(
                row: other, outcome: .answered($0, headers: ["Location: https://b.example/"]),
                failure: "permanent")
        }
}

@Suite("an uploader, turn by turn")
struct UploaderTests {
    @Test("what each answer leads to", arguments: AnswerCase.table)
    func answers(_ row: AnswerCase) throws {
        let bench = try UploaderBench(
            UploaderBench.settings { sync in
                sync.requireAck = row.demand == .batch
                if row.demand == .member { sync.acceptMember = "result" }
            })
        try bench.store(3)
        bench.sync()
        bench.run()
        #expect(bench.server.requests.count == 1)
        bench.run(answering: row.outcome)
        #expect(bench.server.requests.count == row.requests)
        #expect(bench.pending == row.pending && bench.rejected == row.rejected)
        #expect(try bench.workshop.stored().count == row.pending)
        let snapshot = bench.port.snapshot
        #expect(!snapshot.isUploading)
        #expect(snapshot.failure.map { $0.rawValue } == row.failure)
        // The schedule is minutes away.
        let wait = try #require(snapshot.nextAttempt).seconds(since: instant(bench.now))
        #expect((wait < 60) == row.isRetried, "\(wait) s")
        #expect(bench.results().count == 1)
    }

    @Test(
        "a refusal of a server made for other clients is one of the row only where the configuration says so",
        arguments: [400, 402, 404, 422, 403, 410], [Settings.OnReject.keep, .drop])
    func foreign(status: Int, onReject: Settings.OnReject) throws {
        let bench = try UploaderBench(
            UploaderBench.settings { sync in
                sync.format = .osmand(.init(deviceID: "van", speedUnit: .knots))
                (sync.onReject, sync.batchSize) = (onReject, 1)
            })
        try bench.store(1)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(status))
        let isRejected = onReject == .drop && ![403, 410].contains(status)
        #expect(bench.rejected == (isRejected ? 1 : 0) && bench.pending == (isRejected ? 0 : 1))
        let failure = isRejected ? nil : status == 403 ? "auth" : "permanent"
        #expect(bench.port.snapshot.failure?.rawValue == failure)
    }

    @Test("every row of the manual's table has a case, and says the same failure")
    func manual() throws {
        let path = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = String(decoding: try readFile("/\(path)/docs/upload.md", limit: 1 << 20), as: UTF8.self)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("| answer | what happens |") }.dropFirst(
            2)
        let rows = lines.prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.dropFirst(2).dropLast(2).split(separator: " | ", maxSplits: 1).map(String.init)
            return (answer: cells.first ?? "", then: cells.last ?? "")
        }
        #expect(Set(rows.map(\.answer)) == Set(AnswerCase.table.map(\.row)))
        for row in AnswerCase.table {
            guard let failure = row.failure else { continue }
            let then = rows.first { $0.answer == row.row }?.then ?? ""
            #expect(then.contains("failed(\(failure))"), "\(row.row)")
        }
    }

    @Test("a drain goes on over its turns until nothing is pending, with one request at a time")
    func drain() throws {
        let bench = try UploaderBench(UploaderBench.settings { $0.batchSize = 2 })
        try bench.store(5)
        bench.sync()
        for sent in 1...3 {
            let rest = bench.run()
            // Only the server and those who want something can end it.
            #expect(rest != nil && rest?.end == nil)
            #expect(bench.server.requests.count == sent)
            #expect(bench.port.snapshot.isUploading)
            bench.server.outcomes = [.answered(200)]
        }
        bench.run()
        #expect(bench.pending == 0 && !bench.port.snapshot.isUploading)
        #expect(bench.results().map(\.uploaded) == [5])
    }

    @Test("rows that are deleted while their batch is under way break it off")
    func deletion() throws {
        let bench = try UploaderBench(UploaderBench.settings())
        try bench.store(2)
        bench.sync()
        bench.run()
        let batch = try #require(bench.port.snapshot.inFlightBatch)
        try bench.deleteAll()
        bench.port.deliver(.abort([batch]))
        bench.run()
        #expect(bench.server.cancelled == 1 && bench.pending == 0)
        #expect(bench.results().map(\.uploaded) == [0])
    }

    @Test("what is deleted between the freezing and the first byte is not sent at all")
    func deletionBefore() throws {
        let bench = try UploaderBench(UploaderBench.settings())
        try bench.store(2)
        bench.sync()
        // A turn that has taken too long already makes one step.
        while bench.port.snapshot.inFlightBatch == nil { bench.turn(after: 60) }
        let batch = try #require(bench.port.snapshot.inFlightBatch)
        #expect(bench.server.requests.isEmpty)
        try bench.deleteAll()
        bench.port.deliver(.abort([batch]))
        bench.run()
        #expect(bench.server.requests.isEmpty && bench.results().map(\.uploaded) == [0])
    }

    @Test("another url breaks the request off, and the batch goes there; what only says when lets it go on")
    func otherURL() throws {
        let bench = try UploaderBench(UploaderBench.settings())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.configure(UploaderBench.settings { $0.intervalSeconds = 900 })
        bench.run()
        #expect(bench.server.cancelled == 0 && bench.port.snapshot.revision == 1)
        bench.configure(UploaderBench.settings { $0.url = "https://b.example/" })
        bench.run()
        #expect(bench.server.cancelled == 1 && bench.port.snapshot.revision == 2)
        let urls = bench.server.requests.map(\.options.url)
        #expect(urls == ["https://a.example/", "https://b.example/"])
        #expect(bench.server.requests[0].body == bench.server.requests[1].body)
        bench.run(answering: .answered(200))
        #expect(bench.pending == 0)
    }

    @Test("the daemon stops in the middle of a request: the batch stays owed, and the thread ends")
    func stop() throws {
        let bench = try UploaderBench(UploaderBench.settings())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.hub.board.isStopping.store(true, ordering: .relaxed)
        bench.port.deliver(.end)
        #expect(bench.run() == nil)
        #expect(bench.server.cancelled == 1 && bench.pending == 2)
    }

    // MARK: Tokens

    private static func withTokens(_ change: (inout Settings.Sync) -> Void = { _ in }) -> Settings {
        UploaderBench.settings { sync in
            var auth = Settings.Auth()
            auth.accessToken = Secret("a0")
            auth.refreshToken = Secret("r0")
            auth.refreshURL = "https://a.example/token"
            auth.refreshPayload = [Settings.Field(name: "refresh_token", value: Secret("{refreshToken}"))]
            sync.auth = auth
            change(&sync)
        }
    }

    private static func authorization(_ request: FakeTransport.Request) -> String? {
        request.options.headers.first { $0.hasPrefix("Authorization") }
    }

    @Test("a 401 leads to an exchange, over a transport of its own, and to the same batch with the new token")
    func exchange() throws {
        let bench = try UploaderBench(Self.withTokens())
        try bench.store(2)
        bench.sync()
        bench.run()
        let rest = {
            bench.server.outcomes = [.answered(401)]; return bench.run()
        }()
        #expect(rest != nil && bench.endpoint.requests.count == 1)
        // Settings and commands do not wait for it.
        bench.configure(Self.withTokens { $0.intervalSeconds = 900 })
        bench.run()
        #expect(bench.port.snapshot.revision == 1 && bench.endpoint.cancelled == 0)
        bench.endpoint.outcomes = [.answered(200, #"{"access_token":"a1","refresh_token":"r1"}"#)]
        bench.run()
        #expect(
            bench.server.requests.map { Self.authorization($0) }
                == ["Authorization: Bearer a0", "Authorization: Bearer a1"])
        #expect(bench.server.requests[0].body == bench.server.requests[1].body)
        bench.run(answering: .answered(200))
        #expect(bench.pending == 0)
    }

    @Test("tokens that are given in the middle of an exchange are the ones in use, whatever that brings")
    func seeded() throws {
        let bench = try UploaderBench(Self.withTokens())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(401))
        #expect(bench.endpoint.requests.count == 1)
        let settings = SettingsInForce(settings: Self.withTokens())
        #expect(bench.port.commands.post(.seed(Tokens(access: "a9", refresh: "r9"), for: settings, 8)))
        bench.endpoint.outcomes = [.answered(200, #"{"access_token":"a1","refresh_token":"r1"}"#)]
        bench.run()
        #expect(Self.authorization(try #require(bench.server.requests.last)) == "Authorization: Bearer a9")
        #expect(bench.server.requests.count == 2)
    }

    @Test("a stop gives an exchange little time, and then ends")
    func stopInExchange() throws {
        let bench = try UploaderBench(Self.withTokens())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(401))
        bench.hub.board.isStopping.store(true, ordering: .relaxed)
        let rest = try #require(bench.run())
        #expect(rest.end == instant(0.9))
        bench.pass(1)
        #expect(bench.run() == nil)
        #expect(bench.pending == 2)
    }

    @Test("an exchange that is lost makes the next attempt wait, and keeps the rows")
    func lostExchange() throws {
        let bench = try UploaderBench(Self.withTokens())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(401))
        bench.endpoint.outcomes = [.lost()]
        bench.run()
        #expect(bench.server.requests.count == 1 && bench.pending == 2)
        let wait = try #require(bench.port.snapshot.nextAttempt).seconds(since: instant(bench.now))
        #expect(wait > 0 && wait < 60)
        #expect(bench.results().count == 1)
    }

    @Test("the network's return ends the wait after exchanges that the network has cost")
    func exchangeAfterOutage() throws {
        let bench = try UploaderBench(Self.withTokens())
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(401))
        // The third failure in a row makes it wait for half a minute or more, whatever else is due.
        for count in 1...3 {
            #expect(bench.endpoint.requests.count == count)
            bench.endpoint.outcomes = [.lost()]
            bench.run()
            guard count < 3 else { break }
            bench.sync()
            bench.run()
            bench.run(answering: .answered(401))
        }
        bench.port.deliver(.trigger(.networkReturned(outage: 10)))
        bench.run()
        // Within ten seconds, so that a fleet does not come all at once.
        bench.pass(10)
        bench.run()
        bench.run(answering: .answered(401))
        #expect(bench.endpoint.requests.count == 4)
    }

    @Test("with nothing to send it rests until the token is to be refreshed, and refreshes it then")
    func refreshWhenIdle() throws {
        let bench = try UploaderBench(Self.withTokens { $0.triggers.mode = .manual })
        try bench.store(2)
        bench.sync()
        bench.run()
        bench.run(answering: .answered(401))
        bench.endpoint.outcomes = [
            .answered(200, #"{"access_token":"a1","refresh_token":"r1","expires_in":3600}"#)
        ]
        bench.run()
        bench.server.outcomes = [.answered(200)]
        let rest = bench.run()
        #expect(bench.pending == 0 && rest?.end == instant(3540))
        bench.pass(3540)
        bench.run()
        #expect(bench.endpoint.requests.count == 2)
    }

    @Test(
        "an envelope whose answers belong to other requests is sent three times, also where only the newest location goes out"
    )
    func unmatchedEnvelope() throws {
        for deliver in [Settings.Deliver.all, .latest] {
            let bench = try UploaderBench(
                UploaderBench.settings {
                    $0.deliver = deliver
                    $0.heartbeatSeconds = 60
                })
            bench.run()
            bench.pass(60)
            let other = #"{"batch_id":"01900000-0000-7000-8000-000000000000"}"#
            bench.server.outcomes = (0..<9).map { _ in .answered(200, other) }
            bench.run()
            #expect(bench.server.requests.count == 3)
            #expect(bench.server.outcomes.count == 6)
        }
    }
}
