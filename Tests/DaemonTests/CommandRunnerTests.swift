import Base
import Linux
import Storage
import Support
import Testing
import Upload

@testable import Daemon

/// The journal's commands, handed to the main thread one by one, and their results written down.
@Suite("the runner of a server's commands")
struct CommandRunnerTests {
    private let workshop: Workshop
    private let outbox: Outbox
    private let runner: CommandRunner
    private var hub: Hub { workshop.hub }
    private let now = instant(1000)

    init() throws {
        workshop = try Workshop()
        outbox = Outbox(hub: workshop.hub)
        runner = CommandRunner(port: workshop.hub.uploaders.main, hub: workshop.hub, outbox: outbox)
        runner.configure(isEnabled: true)
    }

    private func command(
        _ id: String, counter: Int64? = nil, expiresAt: Timestamp? = nil, refusal: String? = nil
    ) -> NewCommand {
        NewCommand(
            id: id, name: "start", digest: Array(id.utf8), text: "{}", counter: counter, expiresAt: expiresAt,
            refusal: refusal)
    }

    /// As after an acknowledgement.
    private func hear(_ commands: NewCommand..., isAnswerToRows: Bool = true) throws {
        var random = SeededGenerator(seed: 3)
        var ids = UUIDv7Generator(using: &random)
        let list = CommandList(from: .main, answering: ids.next(at: start), at: start, commands)
        runner.journaled(try hub.store.journal(list), isAnswerToRows: isAnswerToRows)
        runner.proceed(now: now)
    }

    /// What the main thread has been sent since the last look.
    private func told() -> [MainMessage] {
        outbox.send()
        return hub.main.takeAll()
    }

    /// What the main thread has been asked to have carried out.
    private func asked() -> [CommandRecord] {
        told().compactMap { if case .runCommand(let record) = $0 { record } else { nil } }
    }

    private var left: CommandCounts { hub.store.counts().commands[.main] ?? CommandCounts() }

    @Test("one at a time, in order, each once the result of the one before it is written down")
    func order() throws {
        try hear(command("a"), command("b", refusal: "no"), command("c"))
        let first = try #require(asked().first)
        #expect(first.id == "a" && !runner.isIdle)
        runner.proceed(now: now)
        #expect(asked().isEmpty, "it is asked for once")
        runner.ended(first, .outcome(CommandOutcome()), now: now)
        #expect(left == CommandCounts(waiting: 1, results: 2))
        let messages = told()
        #expect(messages.count == 2)
        guard case .commandDone(let done)? = messages.first, case .runCommand(let second)? = messages.last
        else {
            Issue.record("\(messages)")
            return
        }
        #expect(done.id == "a" && done.doneAt != nil && second.id == "c")
        runner.ended(second, .outcome(CommandOutcome(error: "no")), now: now)
        #expect(left == CommandCounts(results: 3) && runner.isIdle)
        #expect(try hub.store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == [nil, "no", "no"])
    }

    @Test("the end of another is nobody's")
    func stranger() throws {
        try hear(command("a"))
        let first = try #require(asked().first)
        runner.ended(first, .outcome(CommandOutcome()), now: now)
        _ = told()
        runner.ended(first, .outcome(CommandOutcome(error: "again")), now: now)
        #expect(try hub.store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == [nil])
    }

    @Test("while its server may not ask for anything nothing is begun, and what is under way is written down")
    func disabled() throws {
        try hear(command("a"), command("b"))
        let first = try #require(asked().first)
        runner.configure(isEnabled: false)
        runner.ended(first, .outcome(CommandOutcome()), now: now)
        #expect(left == CommandCounts(waiting: 1, results: 1))
        #expect(asked().isEmpty && !runner.takeResults() && !runner.hasWork && runner.due == nil)
        runner.configure(isEnabled: true)
        runner.proceed(now: now)
        #expect(asked().map(\.id) == ["b"])
    }

    @Test("what fails on the disk is tried again, and nothing else is begun before")
    func brokenDisk() throws {
        try hear(command("a"), command("b"))
        let first = try #require(asked().first)
        try workshop.breakStorage()
        runner.ended(first, .outcome(CommandOutcome()), now: now)
        #expect(asked().isEmpty && !runner.isIdle && runner.due == now.advanced(bySeconds: 10))
        try workshop.mendStorage()
        runner.proceed(now: now.advanced(bySeconds: 5))
        #expect(asked().isEmpty)
        runner.obstacleGone()
        runner.proceed(now: now.advanced(bySeconds: 5))
        #expect(asked().map(\.id) == ["b"])
        #expect(left == CommandCounts(waiting: 1, results: 1))
    }

    @Test("one with an expiry waits until the time is known, with all behind it; after it, it is refused")
    func expiry() throws {
        // The clock of a machine that runs this is known, and long past the one, and before the other.
        try hear(command("late", expiresAt: Timestamp(milliseconds: 1)), command("b"))
        if asked().isEmpty {
            #expect(runner.due == now.advanced(bySeconds: 10), "the time is not known here")
            #expect(left == CommandCounts(waiting: 2))
        } else {
            #expect(try hub.store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == ["expired"])
        }
    }

    @Test("the number of a signed list is on the disk before its first command is begun")
    func counter() throws {
        #expect(hub.files.read(CommandCounter.self).content == nil)
        try hear(command("a", counter: 1_800_000_000_000), command("b", counter: 1_800_000_000_000))
        #expect(hub.files.read(CommandCounter.self).content?.counter == 1_800_000_000_000)
        #expect(asked().map(\.id) == ["a"])
    }

    @Test("results of an answer to rows are worth an attempt, those of an answer to results are not")
    func results() throws {
        try hear(command("a"))
        #expect(!runner.takeResults(), "it is under way")
        runner.ended(try #require(asked().first), .outcome(CommandOutcome()), now: now)
        #expect(runner.takeResults())
        #expect(!runner.takeResults(), "once is enough")
        _ = try hub.store.journal(nil, sent: try hub.store.queuedResults(for: .main, limit: 9))
        try hear(command("b"), isAnswerToRows: false)
        runner.ended(try #require(asked().first), .outcome(CommandOutcome()), now: now)
        #expect(left == CommandCounts(results: 1) && !runner.takeResults())
    }

    @Test("a position that was deleted meanwhile is not written down")
    func erased() throws {
        let start = hub.clock.time(now: .current()).advanced(bySeconds: -60)
        func located(_ seconds: Double) -> CommandOutcome {
            CommandOutcome(result: "{}", positionAt: start.advanced(bySeconds: seconds))
        }
        try hear(command("a"), command("b"), command("c"), command("d"))
        for (seconds, cutoff) in [(10.0, 10.0), (11, 10), (12, nil), (13, 5)] {
            runner.erased(upTo: cutoff.map { start.advanced(bySeconds: $0) }, now: .current())
            runner.ended(try #require(asked().first), .outcome(located(seconds)), now: now)
        }
        let results = try hub.store.queuedResults(for: .main, limit: 9).map(\.outcome)
        #expect(results.map(\.result) == [nil, "{}", nil, "{}"])
        #expect(results.map { $0.positionAt == nil } == [true, false, true, false])
        // Also one that waits for the disk.
        try hear(command("e"))
        let last = try #require(asked().first)
        try workshop.breakStorage()
        runner.ended(last, .outcome(located(14)), now: now)
        runner.erased(upTo: start.advanced(bySeconds: 14), now: now)
        try workshop.mendStorage()
        runner.obstacleGone()
        runner.proceed(now: now)
        #expect(try hub.store.queuedResults(for: .main, limit: 9).last?.outcome.result == nil)
    }

    @Test("those behind one that takes an upload do not wait for it, and its end has a result of its own")
    func upload() throws {
        try hear(command("log"), command("b"))
        runner.ended(try #require(asked().first), .upload, now: now)
        let second = try #require(asked().first)
        #expect(second.id == "b" && left == CommandCounts(waiting: 2))
        runner.ended(second, .outcome(CommandOutcome()), now: now)
        #expect(left == CommandCounts(waiting: 1, results: 1) && runner.isIdle)
        #expect(runner.takeResults(), "the result of the other is worth an attempt")
        #expect(told().count == 1, "it is not asked for again")
        runner.uploadEnded("log", CommandOutcome(error: "failed"), now: now)
        #expect(left == CommandCounts(results: 2) && runner.takeResults())
        #expect(try hub.store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == ["failed", nil])
        runner.uploadEnded("log", CommandOutcome(), now: now)
        #expect(left == CommandCounts(results: 2), "it ends once")
    }

    @Test("an upload may be over before anybody says that the command takes one")
    func quickUpload() throws {
        try hear(command("log"), command("b"))
        let first = try #require(asked().first)
        runner.uploadEnded("log", CommandOutcome(), now: now)
        #expect(left == CommandCounts(waiting: 1, results: 1))
        runner.ended(first, .upload, now: now)
        #expect(asked().map(\.id) == ["b"])
    }

    @Test("after a restart it is begun anew")
    func uploadAnew() throws {
        try hear(command("log"))
        let first = try #require(asked().first)
        runner.ended(first, .upload, now: now)
        let next = CommandRunner(port: hub.uploaders.main, hub: hub, outbox: outbox)
        next.configure(isEnabled: true)
        next.proceed(now: now)
        #expect(asked() == [first])
    }

    @Test("what has to be tried again later is")
    func later() throws {
        try hear(command("a"))
        runner.ended(try #require(asked().first), .later, now: now)
        runner.proceed(now: now)
        #expect(asked().isEmpty && left == CommandCounts(waiting: 1))
        runner.proceed(now: now.advanced(bySeconds: 10))
        #expect(asked().map(\.id) == ["a"])
    }
}
