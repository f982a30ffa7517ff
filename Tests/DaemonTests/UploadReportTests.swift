import Base
import Storage
import Synchronization
import Testing

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// A report whose lines and hints can be looked at.
final class ReportRig {
    let board = Board()
    let port: UploaderPort
    let report: UploadReport
    private let log = Log()

    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
        let hints = Mutex(0)
    }

    init(_ name: DestinationName = .main) throws {
        let log = log
        port = try UploaderPort(name)
        report = UploadReport(
            port: port, board: board,
            post: { message in
                if case .settingsAdopted = message { return }
                log.hints.withLock { $0 += 1 }
            },
            warn: { _, line, _ in log.lines.withLock { $0.append(line) } })
    }

    /// The lines since the last look.
    func lines() -> [String] {
        log.lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    /// How many hints there have been since the last look.
    func hints() -> Int {
        log.hints.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    func end(_ outcome: DrainOutcome, at second: Double = 0, isOwed: Bool = false, authAdvice: String? = nil)
    {
        report.drainEnded(
            outcome, retryIn: 1.2, hadWork: true, isOwed: isOwed, authAdvice: authAdvice, Settings.Sync(),
            now: instant(second))
    }

    func end(_ outcome: DrainOutcome, by sync: Settings.Sync) {
        report.drainEnded(
            outcome, retryIn: nil, hadWork: true, isOwed: false, authAdvice: nil, sync, now: instant(0))
    }

    func publish() {
        report.publish(retries: 0, nextAttempt: nil, auth: AuthState())
    }
}

@Suite("the report of uploads")
struct UploadReportTests {
    private let rig: ReportRig
    private let batch: UUIDv7
    private let transient = DrainOutcome.transient(isNetwork: false, retryAfter: nil)

    init() throws {
        rig = try ReportRig()
        batch = try #require(UUIDv7("0190c1a4-0000-7000-8000-000000000001"))
    }

    private func answer(_ status: Int, _ doubt: Doubt? = nil) throws {
        try answer(Judgement(status: status, doubt: doubt))
    }

    private func answer(_ code: UInt8, _ version: MQTTVersion) throws {
        let answer = MQTTAnswer(source: .puback, code: code, version: version)
        try self.answer(OwnTracksMQTT.judge(answer, acceptsUnsubscribed: false))
    }

    private func answer(_ judgement: Judgement, at second: Double = 0) throws {
        let workshop = try Workshop()
        let recorder = Recorder(store: workshop.hub.store)
        recorder.add(try workshop.location(0))
        _ = recorder.flush(now: instant(0), stopwatch())
        let draft = try #require(try workshop.hub.store.draftBatch(limit: 10))
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let batch = try #require(
            try workshop.hub.store.freeze(draft, id: ids.next(at: start), StoredRequest(body: [1, 2, 3])))
        rig.report.answered(judgement, now: instant(0))
        rig.report.recorded(judgement, of: batch, now: instant(second))
    }

    @Test("an acceptance without a word is warned of once, one of fewer rows than were sent once an hour")
    func acceptances() throws {
        var silent = Judgement(status: 200)
        try answer(silent)
        silent.isSilent = true
        for count in [1, 0, 0] {
            try answer(silent)
            let lines = rig.lines()
            #expect(lines.count == count && lines.allSatisfy { $0.contains("sync.accept_member") })
        }
        var short = Judgement(status: 200)
        for (second, saved, count) in [
            (0.0, 1, 0), (1, 2, 0), (2, 0, 1), (3, 0, 0), (3601, 0, 0), (3602, 0, 1),
        ] {
            short.saved = saved
            try answer(short, at: second)
            let lines = rig.lines()
            #expect(
                lines.count == count && lines.allSatisfy { $0.contains("saved 0 of 1 locations") },
                "\(second)")
        }
        var refused = Judgement(status: 200, doubt: .refused)
        (refused.saved, refused.isSilent) = (0, true)
        rig.report.hasWarnedOfSilence = false
        try answer(refused, at: 9999)
        #expect(rig.lines().isEmpty)
        #expect(rig.report.snapshot.lastError?.contains("without saying that the batch was taken") == true)
    }

    @Test("a fault is logged when it begins, when it changes, and once an hour")
    func once() throws {
        try answer(503)
        for (second, count) in [(0.0, 1), (5, 0), (3599, 0), (3601, 1), (3700, 0)] {
            rig.end(transient, at: second)
            #expect(rig.lines().count == count, "\(second)")
        }
        try answer(500)
        rig.end(transient, at: 3701)
        #expect(rig.lines() == ["upload failed (the server answers 500); trying again in 2 s"])
        // Once all is well, the same fault is news again.
        rig.end(.drained, at: 3702)
        #expect(rig.report.snapshot.lastError == nil)
        try answer(500)
        rig.end(transient, at: 3703)
        #expect(rig.lines().count == 1)
    }

    @Test("what has failed is on the board, and what to do about it in the journal")
    func failures() throws {
        try answer(200, .page)
        #expect(
            rig.report.snapshot.lastError == "the server answers 200 with a page, which is not believed")
        rig.end(.failed(.page))
        #expect(rig.report.snapshot.failure == .page)
        #expect(rig.lines().first?.contains("captive portal") == true)
        rig.end(.failed(.auth), authAdvice: "give new tokens")
        #expect(rig.lines() == ["give new tokens"])
        rig.end(.failed(.auth), at: 3600)
        #expect(rig.lines().first?.contains("[sync.headers]") == true)
        rig.end(transient)
        #expect(rig.report.snapshot.failure == nil)
    }

    @Test("what a broker says is told with what to do, and each of its answers is news")
    func broker() throws {
        try answer(16, .v5)
        rig.end(transient)
        #expect(rig.lines().first?.contains("(16)); trying again in 2 s; no client subscribes") == true)
        #expect(rig.report.snapshot.lastMQTTCode == 16 && rig.report.snapshot.lastHTTPStatus == nil)
        for (code, words) in [(135, "acl_file"), (151, "quotas")] as [(UInt8, String)] {
            try answer(code, .v5)
            rig.end(.failed(code == 135 ? .auth : .permanent))
            #expect(rig.lines().first?.contains(words) == true)
            rig.end(.failed(code == 135 ? .auth : .permanent))
            #expect(rig.lines().isEmpty)
        }
        rig.report.failed(TransportFailure(kind: .network, message: "gone"), now: instant(0))
        #expect(rig.report.snapshot.lastMQTTCode == nil)
        // What an old broker acknowledges is worth little: once is enough.
        try answer(0, .v311)
        try answer(0, .v311)
        #expect(rig.lines().count == 1)
    }

    @Test("a batch that has often failed for its size comes with advice, under whatever error")
    func size() throws {
        for failures in 1...4 {
            try answer(413)
            rig.report.oversized(failures)
            rig.end(.failed(.permanent))
        }
        let lines = rig.lines()
        #expect(lines.count == 2)
        #expect(lines.first?.contains("--rebatch") == false)
        #expect(lines.last?.contains("--rebatch") == true)
        rig.report.oversized(4)
        var one = Settings.Sync()
        one.batchSize = 1
        rig.end(.failed(.permanent), by: one)
        #expect(rig.report.snapshot.oversizedFailures == 4)
        #expect(!rig.lines().contains { $0.contains("batch_size") || $0.contains("--rebatch") })
    }

    @Test("advice names the table of its destination")
    func table() throws {
        let home = try ReportRig(#require(DestinationName("home")))
        for failure in [DrainOutcome.Failure.auth, .page, .noAck, .permanent] {
            home.end(.failed(failure))
            let line = home.lines().first ?? ""
            #expect(line.contains("destination.home") && !line.contains("sync."), "\(line)")
        }
        home.report.tokenDied(.refused, 400, now: instant(0))
        let line = home.lines().first ?? ""
        #expect(
            line.contains("[destination.home.auth]") && line.contains("seed --destination home"), "\(line)")
    }

    @Test("a broker that closes without an answer is not taken for Traccar")
    func closedByBroker() {
        var sync = Settings.Sync()
        sync.format = .owntracks(.init(deviceID: "van", mqtt: .init()))
        rig.end(.failed(.permanent), by: sync)
        let line = rig.lines().first ?? ""
        #expect(line.contains("The broker closes") && !line.contains("Traccar"), "\(line)")
    }

    @Test("what follows a failure depends on who starts uploads, and on what is sent")
    func whatFollows() throws {
        var manual = Settings.Sync()
        manual.triggers.mode = .manual
        try answer(503)
        rig.end(transient, by: manual)
        #expect(rig.lines() == ["upload failed (the server answers 503); beekonctl sync tries again"])
        rig.end(.failed(.permanent), by: manual)
        #expect(rig.lines().first?.hasSuffix("the next attempt is made by beekonctl sync") == true)
        // The daemon stops: no attempt follows, and none is promised.
        rig.end(transient, by: Settings.Sync())
        #expect(rig.lines() == [])
        var latest = Settings.Sync()
        latest.deliver = .latest
        rig.end(.failed(.rejected), by: latest)
        let line = try #require(rig.lines().first)
        #expect(line.contains("calls the location invalid (503)") && line.hasSuffix("follows after a pause"))
    }

    @Test("a disk that fails is told apart from the network")
    func storage() {
        let error = StorageError(operation: "acknowledge", kind: .other, message: "disk full")
        rig.report.storageFailed(error)
        rig.end(transient)
        #expect(rig.lines().first?.hasPrefix("uploading waits for storage (storage: disk full)") == true)
        rig.end(transient, at: 3600, isOwed: true)
        #expect(rig.lines().first?.hasPrefix("uploaded, but not yet deleted") == true)
        #expect(rig.report.snapshot.storageError != nil)
        rig.report.sending(batch, Request(format: .beekon, body: [1]), at: start, now: instant(0))
        #expect(rig.report.snapshot.storageError == nil)
    }

    @Test("hints are posted only for what subscribers see")
    func hints() throws {
        rig.publish()
        #expect(rig.hints() == 0)
        rig.report.sending(batch, Request(format: .beekon, body: [1]), at: start, now: instant(0))
        rig.publish()
        #expect(rig.hints() == 1)
        #expect(rig.port.snapshot.isUploading)
        try answer(200)
        rig.publish()
        #expect(rig.hints() == 0)
        #expect(rig.port.snapshot.bytesSent == 3)
        rig.end(.failed(.permanent))
        rig.publish()
        #expect(rig.hints() == 1)
    }

    @Test("a deferred upload warns from four fifths of the cap on, at once and then hourly")
    func deferral() {
        let report = rig.report
        for (pending, second, warns) in [
            (79, 0.0, false), (80, 1, true), (90, 2, false), (79, 3, false), (80, 4, false), (99, 3602, true),
        ] {
            report.deferred(true, pending: pending, cap: 100, now: instant(second))
            let lines = rig.lines()
            #expect(
                lines.count == (warns ? 1 : 0)
                    && lines.allSatisfy { $0.contains("\(pending) rows are pending of 100") })
            #expect(lines.allSatisfy { $0.contains("sync.metered_max_wait_seconds") })
            #expect((report.snapshot.deferralWarning != nil) == (pending >= 80) && report.snapshot.isDeferred)
        }
        report.deferred(false, now: instant(3700))
        #expect(report.snapshot.deferralWarning == nil && !report.snapshot.isDeferred)
    }
}
