import Base
import SQLite
import Support
import Testing

@testable import Storage

/// What servers have asked for: written down with the acknowledgement that it came with, run once, answered until its
/// result has arrived.
@Suite("the journal of commands")
struct CommandJournalTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop()
    }

    private func command(_ number: Int, content: Int = 0, refusal: String? = nil) -> NewCommand {
        NewCommand(
            id: "c-\(number)", name: "start", digest: [UInt8(truncatingIfNeeded: content)],
            text: #"{"command":"start","n":\#(content)}"#, refusal: refusal)
    }

    private func list(
        _ commands: [NewCommand], from destination: DestinationName = .main, at seconds: Double = 0
    ) -> CommandList {
        CommandList(from: destination, answering: uuid(77), at: time(seconds), commands)
    }

    private func journaling(
        new: Int = 0, repeated: Int = 0, refused: Int = 0, unheard: Int = 0
    ) -> Journaling {
        var journaling = Journaling()
        (journaling.new, journaling.repeated) = (new, repeated)
        (journaling.refused, journaling.unheard) = (refused, unheard)
        return journaling
    }

    private func records() throws -> [CommandRecord] {
        let history = try History(directory: workshop.directory.path)
        var cursor = CommandCursor()
        var all: [CommandRecord] = []
        while !cursor.isAtEnd { all += try history.next(&cursor, limit: 7) }
        return all
    }

    /// Runs the next one.
    @discardableResult
    private func run(_ outcome: CommandOutcome = CommandOutcome()) throws -> String {
        let next = try #require(try store.nextCommand(of: .main))
        try store.finish(next, with: outcome, at: time(5))
        return next.id
    }

    @Test("commands are there once their batch is acknowledged, and not before; they run in order")
    func withTheAcknowledgement() throws {
        _ = try workshop.insert(1...4)
        let batch = try workshop.freeze(limit: 2)
        #expect(
            try store.acknowledge(batch, journaling: list([command(1), command(2)])) == journaling(new: 2))
        #expect(store.counts().pending == 2)
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 2)])
        try workshop.reopen()
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 2)])
        let first = try #require(try store.nextCommand(of: .main))
        #expect((first.id, first.name, first.text) == ("c-1", "start", command(1).text))
        #expect((first.batch, first.receivedAt, first.doneAt) == (uuid(77), time(0), nil))
        #expect(try run() == "c-1")
        #expect(try run(CommandOutcome(error: "no")) == "c-2")
        #expect(try store.nextCommand(of: .main) == nil)
        #expect(store.counts().commands == [.main: CommandCounts(results: 2)])
        let results = try store.queuedResults(for: .main, limit: 10)
        #expect(results.map(\.outcome.error) == [nil, "no"])
        #expect(results.map(\.text) == [nil, nil], "what running them took is forgotten")
        #expect(try store.journal(nil, sent: results) == journaling())
        #expect(store.counts().commands == [:])
        #expect(try records().map(\.isSent) == [true, true])
    }

    @Test("the next batch is frozen, and commands are written down, in the one transaction")
    func withTheNextBatch() throws {
        _ = try workshop.insert(1...4)
        let batch = try workshop.freeze(limit: 2)
        let draft = try #require(try store.draftBatch(limit: 2, after: batch))
        let before = store.commits.snapshot().counts.reduce(0, +)
        let next = (draft: draft, id: uuid(9), request: StoredRequest(body: workshop.body(of: draft)))
        _ = try store.acknowledge(batch, freezing: next, journaling: list([command(1)]))
        #expect(store.commits.snapshot().counts.reduce(0, +) == before + 1)
        #expect(try store.nextFrozen()?.id == uuid(9))
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 1)])
    }

    @Test(
        "an id that was seen is answered from its result; with other content it is refused, each time alike")
    func knownIDs() throws {
        #expect(try store.journal(list([command(1)])) == journaling(new: 1))
        #expect(try store.journal(list([command(1)])) == journaling(repeated: 1), "it has yet to be run")
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 1)])
        try run(CommandOutcome(result: "{}"))
        _ = try store.journal(nil, sent: try store.queuedResults(for: .main, limit: 9))
        #expect(store.counts().commands == [:])
        // The server has lost the result, or never understood it.
        #expect(try store.journal(list([command(1)])) == journaling(repeated: 1))
        #expect(try store.queuedResults(for: .main, limit: 9).map(\.outcome.result) == ["{}"])
        for round in 0..<2 {
            let expected = round == 0 ? journaling(refused: 1) : journaling(repeated: 1)
            #expect(try store.journal(list([command(1, content: 9)])) == expected)
        }
        #expect(try store.nextCommand(of: .main) == nil)
        #expect(
            try store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == [
                nil, CommandRecord.reused,
            ])
        #expect(try store.journal(list([command(1), command(1)])) == journaling(repeated: 2))
    }

    @Test("refusals of one id take one row, and what a list adds is known before")
    func rowsAdded() throws {
        var random = SeededGenerator(seed: 17)
        for _ in 0..<60 {
            let commands = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                command(
                    Int.random(in: 1...9, using: &random), content: Int.random(in: 0...3, using: &random),
                    refusal: Bool.random(using: &random) ? "not_allowed" : nil)
            }
            let before = try records()
            let known = try store.knownCommands(among: commands, of: .main)
            let journaled = try store.journal(list(commands))
            #expect(try records().count == before.count + known.added)
            #expect(known.added == journaled.new + journaled.refused)
            #expect(known.ids == Set(commands.map(\.id)).intersection(before.map(\.id)))
        }
        let reused = try records().filter { $0.outcome.error == CommandRecord.reused }
        #expect(reused.count == 9 && Set(reused.map(\.id)).count == 9)
    }

    @Test("a list of which nothing was begun does not count as the latest")
    func countersNotBegun() throws {
        for (number, counter) in [(1, 10), (2, 99), (3, 98), (4, 97)] {
            var one = command(number)
            (one.name, one.counter) = (number == 3 ? "stop" : "start", Int64(counter))
            _ = try store.journal(list([one]))
        }
        try run()
        #expect(try store.highestCommandCounter() == 99)
        let next = try #require(try store.nextCommand(of: .main))
        try store.finish(next, with: CommandOutcome(error: "counter_ahead"), at: time(5), wasBegun: false)
        #expect(try store.highestCommandCounter() == 98)
        #expect(try store.supersedeCommands(named: "stop", at: time(6)).map(\.id) == ["c-3"])
        #expect(try store.highestCommandCounter() == 97)
        #expect(try store.refuseCommands(besides: nil, error: "not_allowed", at: time(7)) == 1)
        #expect(try store.highestCommandCounter() == 10)
    }

    @Test("the latest rows are known by when they came")
    func arrivals() throws {
        for second in 1...5 { _ = try store.journal(list([command(second)], at: Double(second))) }
        let found = try store.arrivalsOfCommands(of: .main, limit: 3)
        #expect(found == [time(5), time(4), time(3)])
    }

    @Test("what is refused is written down with its reason, unless its id is known")
    func refusals() throws {
        let expected = journaling(new: 1, refused: 1)
        #expect(
            try store.journal(list([command(1, refusal: "not_allowed"), command(2)])) == expected)
        #expect(try store.queuedResults(for: .main, limit: 9).map(\.outcome.error) == ["not_allowed"])
        try run()
        // A list that is sent again comes too late for whatever is new in it.
        let late = [
            command(1, refusal: "replayed"), command(2, refusal: "replayed"), command(3, refusal: "replayed"),
        ]
        #expect(try store.journal(list(late)) == journaling(repeated: 2, refused: 1))
        #expect(
            try records().map(\.outcome.error) == ["not_allowed", nil, "replayed"])
    }

    @Test("each destination has ids of its own, and its results go to it alone")
    func destinations() throws {
        let fleet = try #require(DestinationName("fleet"))
        #expect(try store.journal(list([command(1)])) == journaling(new: 1))
        #expect(try store.journal(list([command(1, content: 5)], from: fleet)) == journaling(new: 1))
        #expect(try store.nextCommand(of: fleet)?.text == command(1, content: 5).text)
        try run()
        #expect(try store.queuedResults(for: fleet, limit: 9) == [])
        #expect(
            store.counts().commands == [
                .main: CommandCounts(results: 1), fleet: CommandCounts(waiting: 1),
            ])
        #expect(try store.refuseCommands(besides: .main, error: "disabled", at: time(6)) == 1)
        #expect(try store.refuseCommands(besides: nil, error: "disabled", at: time(6)) == 0)
        #expect(try store.queuedResults(for: fleet, limit: 9).map(\.outcome.error) == ["disabled"])
    }

    @Test("the latest thousand are known; none that has yet to be run is forgotten, nor more taken than that")
    func limit() throws {
        for start in stride(from: 1, through: 1000, by: 100) {
            _ = try store.journal(list((start..<start + 100).map { command($0) }))
        }
        #expect(try store.journal(list([command(2000)])) == journaling(unheard: 1))
        #expect(try store.journal(list([command(1)])) == journaling(unheard: 1))
        for _ in 1...10 { try run() }
        #expect(try store.journal(list((2001...2004).map { command($0) })) == journaling(new: 4))
        #expect(try workshop.count("commands") == 1000)
        #expect(try records().first?.id == "c-5")
        #expect(try store.queuedResults(for: .main, limit: 2000).map(\.id) == (5...10).map { "c-\($0)" })
    }

    @Test("a deletion takes the positions out of results, and leaves the results")
    func deletion() throws {
        _ = try store.journal(list((1...3).map { command($0) }))
        for second in [10.0, 20] {
            try run(
                CommandOutcome(result: #"{"location":{"latitude":52.5}}"#, positionAt: time(second)))
        }
        try run(CommandOutcome(result: #"{"overridden":[]}"#))
        _ = try workshop.delete(before: 10)
        #expect(try records().map { $0.outcome.result == nil } == [true, false, false])
        _ = try workshop.delete()
        #expect(try records().map { $0.outcome.result == nil } == [true, true, false])
        #expect(store.counts().commands == [.main: CommandCounts(results: 3)])
        workshop.store.close()
        let bytes = String(decoding: try workshop.directory.read("beekon.db"), as: UTF8.self)
        #expect(!bytes.contains("latitude\":52.5"))
    }

    @Test("the journal of a damaged database is saved: what has been run is not run again, and the rest is")
    func salvage() throws {
        _ = try store.journal(list((1...3).map { command($0) }))
        try run(CommandOutcome(result: "{}", positionAt: time(1)))
        try run(CommandOutcome(error: "no"))
        _ = try store.journal(nil, sent: Array(try store.queuedResults(for: .main, limit: 1)))
        let before = try records()
        store.close()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            "CREATE TABLE alien (a)")
        try workshop.reopen()
        guard case .quarantined(let name, _, _) = store.takeEvents().first else {
            Issue.record("nothing was moved aside")
            return
        }
        #expect(name.hasSuffix(".salvaged"))
        #expect(try records() == before)
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 1, results: 1)])
        #expect(try store.journal(list([command(2)])) == journaling(repeated: 1))
    }

    @Test("what something newer was wished against is not run; what was run all the same has its own outcome")
    func superseded() throws {
        func stop(_ number: Int) -> NewCommand {
            NewCommand(id: "c-\(number)", name: "stop", digest: [0], text: #"{"command":"stop"}"#)
        }
        _ = try store.journal(list([stop(1), stop(2), command(3), stop(4)]))
        try run()
        let underWay = try #require(try store.nextCommand(of: .main))
        let found = try store.supersedeCommands(named: "stop", at: time(7))
        #expect(found.map(\.id) == ["c-2", "c-4"])
        #expect(found.map(\.outcome.error) == ["superseded", "superseded"])
        #expect(store.counts().commands == [.main: CommandCounts(waiting: 1, results: 3)])
        try workshop.reopen()
        #expect(try store.nextCommand(of: .main)?.id == "c-3")
        #expect(try records().map(\.outcome.error) == [nil, "superseded", nil, "superseded"])
        #expect(try records().map(\.text) == [nil, nil, command(3).text, nil])
        // It had been handed over before.
        try store.finish(underWay, with: CommandOutcome(), at: time(8))
        #expect(try records().map(\.outcome.error) == [nil, nil, nil, "superseded"])
        #expect(try store.queuedResults(for: .main, limit: 9).map(\.id) == ["c-1", "c-2", "c-4"])
        #expect(try store.supersedeCommands(named: "stop", at: time(9)) == [])
    }

    @Test("without commands no transaction writes anything of them")
    func cost() throws {
        _ = try workshop.insert(1...4)
        #expect(try store.journal(nil) == journaling())
        #expect(try store.journal(list([])) == journaling())
        #expect(try store.refuseCommands(besides: nil, error: "disabled", at: time(1)) == 0)
        #expect(try store.supersedeCommands(named: "stop", at: time(1)) == [])
        _ = try store.acknowledge(try workshop.freeze(limit: 2))
        #expect(try workshop.count("commands") == 0)
        #expect(store.counts().commands.isEmpty)
    }

    @Test("signed lists leave the highest of their numbers")
    func counters() throws {
        #expect(try store.highestCommandCounter() == nil)
        var signed = command(1)
        signed.counter = 1_800_000_000_000
        signed.expiresAt = time(60)
        _ = try store.journal(list([signed, command(2)]))
        #expect(try store.highestCommandCounter() == 1_800_000_000_000)
        let next = try #require(try store.nextCommand(of: .main))
        #expect((next.counter, next.expiresAt) == (1_800_000_000_000, time(60)))
    }

    /// Random lists, runs and answers against plain arrays.
    @Test(
        "whatever is asked in whatever order, each id runs once and each result is sent",
        arguments: sampled([1, 2, 3] as [UInt64], 1))
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var known: [String: Int] = [:]
        var waiting: [String] = []
        var ran: [String: Int] = [:]
        for _ in 0..<2000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let commands = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    command(
                        Int.random(in: 1...300, using: &random),
                        content: random.chance(0.1) ? Int.random(in: 1...3, using: &random) : 0)
                }
                _ = try store.journal(list(commands))
                for one in commands where known[one.id] == nil {
                    known[one.id] = Int(one.digest[0])
                    waiting.append(one.id)
                }
            case 4..<8:
                guard !waiting.isEmpty else { continue }
                let id = try run()
                try #require(id == waiting.removeFirst())
                ran[id, default: 0] += 1
            case 8:
                let results = try store.queuedResults(for: .main, limit: 20)
                _ = try store.journal(nil, sent: results)
            default: if random.chance(0.1) { try workshop.reopen() }
            }
            try #require((store.counts().commands[.main]?.waiting ?? 0) == waiting.count)
        }
        while try store.nextCommand(of: .main) != nil { ran[try run(), default: 0] += 1 }
        #expect(ran.values.allSatisfy { $0 == 1 } && ran.count == known.count)
        while true {
            let results = try store.queuedResults(for: .main, limit: 100)
            if results.isEmpty { break }
            _ = try store.journal(nil, sent: results)
        }
        #expect(store.counts().commands == [:])
        #expect(try workshop.count("commands WHERE is_sent = 0 OR done_at IS NULL") == 0)
    }
}
