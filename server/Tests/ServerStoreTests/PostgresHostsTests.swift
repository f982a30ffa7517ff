import Foundation
import Synchronization
import Testing

@testable import ServerStore

/// Which of several PostgreSQL is used, how often they are asked, and what is said of it.
@Suite("hosts of PostgreSQL") struct PostgresHostsTests {
    private typealias One = PostgresIdentity

    private static func primary(_ timeline: Int64?, system: Int64? = 7, noted: Int64? = nil)
        -> PostgresIdentity
    {
        PostgresIdentity(system: system, timeline: timeline, noted: noted)
    }

    private static let standby = PostgresIdentity(isStandby: true, system: 7)

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What answers, one look after the other.
        let looks: [[PostgresIdentity]]
        /// The place of the primary, after the last look.
        let chosen: Int?
        var refusals: [Int: PostgresHistory.Refusal] = [:]
    }

    static let cases = [
        Case(testDescription: "one alone", looks: [[primary(1)]], chosen: 0),
        Case(
            testDescription: "the standby comes first", looks: [[standby, primary(3)]], chosen: 1,
            refusals: [0: .standby]),
        Case(
            testDescription: "an old one beside the new one, at the first look",
            looks: [[primary(1), primary(2)]],
            chosen: 1, refusals: [0: .older(timeline: 1, highest: 2)]),
        Case(
            testDescription: "an old one alone, after the new one", looks: [[primary(2)], [primary(1)]],
            chosen: nil,
            refusals: [0: .older(timeline: 1, highest: 2)]),
        Case(
            testDescription: "an old one alone, that was told", looks: [[primary(1, noted: 2)]], chosen: nil,
            refusals: [0: .older(timeline: 1, highest: 2)]),
        Case(
            testDescription: "what a copy by pg_dump brings is another system's",
            looks: [[primary(1, system: 8)]], chosen: 0),
        Case(
            testDescription: "another cluster in its place", looks: [[primary(1)], [primary(5, system: 8)]],
            chosen: nil,
            refusals: [0: .otherCluster]),
        Case(
            testDescription: "another cluster does not raise what is known",
            looks: [[primary(1)], [primary(5, system: 8), primary(1)]], chosen: 1,
            refusals: [0: .otherCluster]),
        Case(
            testDescription: "two clusters at the first look", looks: [[primary(1), primary(1, system: 8)]],
            chosen: nil,
            refusals: [0: .ambiguous, 1: .ambiguous]),
        Case(testDescription: "a restored copy goes on", looks: [[primary(2)], [primary(3)]], chosen: 0),
        Case(
            testDescription: "one that does not tell", looks: [[primary(2)], [primary(nil, system: nil)]],
            chosen: 0),
        Case(testDescription: "nobody", looks: [[]], chosen: nil),
        Case(
            testDescription: "one that takes no changes",
            looks: [[PostgresIdentity(isReadOnly: true, system: 7, timeline: 9)]],
            chosen: nil, refusals: [0: .readOnly]),
    ]

    @Test(
        "a worker of Citus that is away is a matter of those whose rows it has",
        arguments: ["08006", "XX000"])
    func worker(_ state: String) {
        func error(isLost: Bool) -> StoreError {
            PostgresSession.Refusal(operation: "COPY", sqlState: state, message: "", isLost: isLost).error
        }
        #expect(error(isLost: false).kind == .unavailable && !error(isLost: false).isOfAll)
        #expect(error(isLost: true).isOfAll)
    }

    @Test("the primary is the one on the highest timeline that was seen", arguments: cases)
    func judges(_ one: Case) {
        var history = PostgresHistory()
        var last: (chosen: Int?, refusals: [Int: PostgresHistory.Refusal]) = (nil, [:])
        for look in one.looks { last = history.judge(look) }
        #expect(last.chosen == one.chosen)
        #expect(last.refusals == one.refusals)
    }

    @Test("a host is asked with its own port, and the rest of the address is kept") func address() throws {
        let text =
            "postgresql://ada:pw@h1:15450,[::1]:15451/fleet?options=-c%20a%3Db&target_session_attrs=read-write"
        let address = try PostgresAddress(text)
        #expect(address.hosts.map(\.description) == ["h1:15450", "::1:15451"])
        let found = Dictionary(
            uniqueKeysWithValues: address.parameters(of: address.hosts[1]).map { ($0.name, $0.value) })
        #expect(
            found == [
                "host": "::1", "port": "15451", "user": "ada", "password": "pw", "dbname": "fleet",
                "options": "-c a=b",
            ])
        #expect(try PostgresAddress("postgresql://a,b:5,c:5,d/x?port=7").hosts.count >= 1)
        #expect(
            try PostgresAddress("postgresql:///x?host=/tmp/a,/tmp/b").hosts.map(\.name) == [
                "/tmp/a", "/tmp/b",
            ])
        #expect(try PostgresAddress("postgresql:///x").hosts.map(\.name) == [nil])
        #expect(throws: StoreError.self) { try PostgresAddress("postgresql://h/x?what=is") }
    }

    @Test("tries are a tenth of the outage apart, and 5 s at most") func pauses() {
        var pause = ConnectPause()
        let start = ContinuousClock.now
        let error = StoreError(.unavailable, operation: "connect", message: "refused")
        #expect(pause.begin(at: start) == nil)
        pause.fail(error, at: start)
        var (now, tries, others) = (start, 0, 0)
        while now < start + .seconds(600) {
            if pause.begin(at: now) == nil {
                tries += 1
                others += pause.begin(at: now) == error ? 0 : 1
                pause.fail(error, at: now)
            }
            now += .milliseconds(1)
        }
        // 20 ms apart for 0.2 s, then by a tenth, from 50 s on each 5 s.
        #expect((160...190).contains(tries), "\(tries)")
        #expect(others == 0, "one tries for all")
        pause.succeed()
        #expect(pause.begin(at: now) == nil)
    }

    @Test("an outage is told once, whoever meets it, and so is its end") func quiet() {
        let lines = Mutex<[String]>([])
        let quiet = Quieter(
            { error in lines.withLock { $0.append(error.message) } },
            note: { text in lines.withLock { $0.append(text) } })
        func outage(_ text: String) -> StoreError {
            var error = StoreError(.unavailable, operation: "connect", message: text)
            error.isOutage = true
            return error
        }
        let now = ContinuousClock.now
        quiet.answers("n1", isNews: false, at: now)
        for number in 0..<100 { quiet.report(outage("\(number)"), at: now) }
        quiet.report(StoreError(.failed, operation: "SELECT", message: "another"), at: now)
        quiet.answers("n1 answers", isNews: false, at: now)
        quiet.answers("n1 answers", isNews: false, at: now)
        // It comes and goes.
        for _ in 0..<100 {
            quiet.report(outage("again"), at: now)
            quiet.answers("n1 answers", isNews: false, at: now)
        }
        quiet.answers("n2 answers", isNews: true, at: now)
        #expect(lines.withLock { $0 } == ["0", "another", "n1 answers, after 0 s", "n2 answers"])
    }

    @Test(
        "what the address has in options is kept beside the server's settings",
        .enabled(if: Workshop.Kind.available.count > 1))
    func options() throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let options =
            "-c statement_timeout=7s -c synchronous_commit=remote_apply -c client_min_messages=error -c work_mem=5MB"
        let encoded = options.replacing(" ", with: "%20").replacing("=", with: "%3D")
        let session = try PostgresSession(address: workshop.database + "&options=" + encoded, prepare: true)
        func setting(_ name: String) throws -> String? {
            try session.run("SELECT current_setting($1)", [.text(name)]).first?.first?.text
        }
        #expect(try setting("statement_timeout") == "7s")
        #expect(try setting("synchronous_commit") == "remote_apply")
        #expect(try setting("work_mem") == "5MB")
        #expect(try setting("lock_timeout") == "10s")
        #expect(try setting("client_min_messages") == "warning", "a warning at COMMIT has to be seen")
        #expect(!session.isPooled)
    }

    @Test("a reader makes no tables and writes nothing", .enabled(if: Workshop.Kind.available.count > 1))
    func reader() async throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let store = try workshop.open()
        defer { store.close() }
        let tables = try await store.read { session throws(StoreError) in
            try session.run("SELECT to_regclass('pg_temp.staged_locations') IS NULL").first?.first?.integer
        }
        #expect(tables == 1)
        await #expect(throws: StoreError.self) {
            try await store.read { session throws(StoreError) in try session.run("CREATE TEMP TABLE t(a int)")
            }
        }
    }

    @Test(
        "a warning behind a transaction is no success; one within is",
        .enabled(if: Workshop.Kind.available.count > 1))
    func warnings() throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let session = try PostgresSession(address: workshop.database, prepare: true)
        let warn = "DO $$ BEGIN RAISE WARNING 'the standby may not have it'; END $$"
        try session.transaction { () throws(StoreError) in _ = try session.run(warn) }
        #expect(throws: StoreError.self) { try session.run(warn) }
        do {
            try session.run(warn)
        } catch {
            #expect(error.kind == .unavailable)
            #expect(error.message.contains("the standby may not have it"))
        }
        #expect(session.isUsable)
        try session.run("SELECT 1")
    }

    @Test(
        "a transaction that was rolled back at COMMIT is no success",
        .enabled(if: Workshop.Kind.available.count > 1))
    func rolledBack() throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let session = try PostgresSession(address: workshop.database, prepare: true)
        #expect(throws: StoreError.self) {
            try session.transaction { () throws(StoreError) in
                // What the body does not tell.
                _ = try? session.run("SELECT 1/0")
            }
        }
    }
}
