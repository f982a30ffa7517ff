import Base
import Support
import Testing

@testable import Storage
@testable import Tracking

@Test("a deletion removes everything at or before its cutoff and tells how much that was")
func deleteBefore() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...6)
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 2), status: 400, at: time(50))
            == .deadLettered(2))
    let first = try workshop.delete(before: 1)
    #expect(first.removed == 1, "a dead letter counts as well")
    let second = try workshop.delete(before: 4)
    #expect(second.removed == 3)
    #expect(second.dissolved == [])
    #expect(try workshop.stored().map(\.fix.time) == [time(5), time(6)])
    #expect(workshop.store.counts() == StoreCounts(locations: 2, pending: 2, oldestPending: time(5)))
    #expect(try workshop.delete().removed == 2)
    #expect(try workshop.delete().removed == 0)
}

@Test("a deletion goes in steps of a thousand, and leaves what came after it began")
func deleteInSteps() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...2500)
    var deletion = try workshop.store.beginDeletion(before: nil)
    var steps: [Int] = []
    while !deletion.isFinished {
        try workshop.store.proceed(with: &deletion)
        // What comes after the rows removes none.
        if steps.last == deletion.removed { continue }
        steps.append(deletion.removed)
        try workshop.insert(Double(steps.count) / 10)
        #expect(workshop.store.counts().locations == (try workshop.count("locations")))
    }
    #expect(steps == [1000, 2000, 2500])
    #expect(workshop.store.counts() == StoreCounts(locations: 3, pending: 3, oldestPending: time(0.1)))
}

@Test("dead letters go in steps as well, after the rows")
func deleteDeadLettersInSteps() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...1700)
    for _ in 0..<2 {
        _ = try workshop.store.reject(try workshop.freeze(limit: 750), status: 400, at: time(5000))
    }
    var deletion = try workshop.store.beginDeletion(before: nil)
    var steps: [Int] = []
    while !deletion.isFinished {
        try workshop.store.proceed(with: &deletion)
        if steps.last != deletion.removed { steps.append(deletion.removed) }
        #expect(workshop.store.counts().rejected == (try workshop.count("rejected")))
    }
    #expect(steps == [1000, 1700])
}

@Test(
    "a frozen batch that holds deleted rows is dissolved; what is left goes into a new one with the same ids")
func deleteDissolves() throws {
    let workshop = try Workshop()
    let ids = try workshop.insert(1...6)
    let batch = try workshop.freeze(limit: 4)
    let deletion = try workshop.delete(before: 2)
    #expect(deletion.dissolved == [batch.id])
    #expect(try workshop.store.nextFrozen() == nil)
    try workshop.reopen()
    let next = try workshop.freeze(limit: 10)
    #expect(next.ids == Array(ids[2...]))
    #expect(next.id != batch.id)
}

@Test("a deletion that spares a frozen batch leaves it as it is")
func deleteSpares() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...2)
    _ = try workshop.store.acknowledge(try workshop.freeze())
    _ = try workshop.insert(5...6)
    let batch = try workshop.freeze()
    try workshop.insert(3)
    let deletion = try workshop.delete(before: 4)
    #expect(deletion.removed == 1 && deletion.dissolved == [])
    #expect(try workshop.store.nextFrozen() == batch)
}

@Test("a 2xx that was complete before the deletion acknowledges what is left, row by row")
func acknowledgeAfterDelete() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...6)
    let batch = try workshop.freeze(limit: 4)
    _ = try workshop.delete(before: 2)
    // A new row between the others was not in it.
    try workshop.insert(3.5)
    #expect(try workshop.store.acknowledge(batch) == 2)
    #expect(try workshop.stored().map(\.fix.time) == [3.5, 5, 6].map(time))
    #expect(workshop.store.counts() == StoreCounts(locations: 3, pending: 3, oldestPending: time(3.5)))
}

@Test("what is deleted is overwritten in the file")
func secureDelete() throws {
    let workshop = try Workshop()
    try workshop.insert(1, extras: nil)
    let secret = try workshop.insert(2)
    try workshop.insert(3)
    workshop.store.close()
    #expect(contains(try workshop.directory.read("beekon.db"), secret.bytes))
    _ = try workshop.delete(before: 2)
    workshop.store.close()
    #expect(!contains(try workshop.directory.read("beekon.db"), secret.bytes))
}

@Test("sessions are listed with counts and distances that outlive their rows")
func sessionList() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...3)
    try workshop.store.close(session: uuid(1), at: time(10))
    _ = try workshop.insert(11...12, session: 2)
    let expected = [
        SessionRecord(id: uuid(1), startedAt: time(0), stoppedAt: time(10), locations: 3, distance: 3),
        SessionRecord(id: uuid(2), startedAt: time(0), stoppedAt: nil, locations: 2, distance: 5),
    ]
    #expect(try workshop.sessions() == expected)
    _ = try workshop.store.acknowledge(try workshop.freeze())
    _ = try workshop.store.acknowledge(try workshop.freeze())
    #expect(try workshop.count("locations") == 0)
    #expect(try workshop.sessions() == expected)
    try workshop.reopen()
    #expect(try workshop.sessions() == expected)
    _ = try workshop.store.enter(session: uuid(2), startedAt: time(0))
    #expect(try workshop.sessions() == expected)
}

@Test("a session that was left open is closed at its last fix when another is entered")
func openSessionClosed() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...3)
    try workshop.reopen()
    _ = try workshop.store.enter(session: uuid(2), startedAt: time(20))
    _ = try workshop.store.enter(session: uuid(3), startedAt: time(30))
    #expect(
        try workshop.sessions().map(\.stoppedAt) == [time(3), time(20), nil], "without a fix: at its start")
}

@Test("the newest thousand sessions are kept, and older ones as long as they have rows")
func sessionLimit() throws {
    let workshop = try Workshop()
    try workshop.insert(1, session: 1)
    for number in 2...1005 {
        _ = try workshop.store.enter(session: uuid(number), startedAt: time(Double(number)))
    }
    #expect(try workshop.sessions().map(\.id) == [uuid(1)] + (6...1005).map(uuid))
    _ = try workshop.store.acknowledge(try workshop.freeze())
    _ = try workshop.store.enter(session: uuid(1006), startedAt: time(1006))
    #expect(try workshop.sessions().map(\.id) == (7...1006).map(uuid))
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
}

@Test(
    "a deletion that is cut off after any step is known at the next start, and completed",
    arguments: [nil, 3.0])
func deletionIsCompleted(cutoff: Double?) throws {
    var steps = 0
    var isOver = false
    while !isOver {
        let workshop = try Workshop()
        _ = try workshop.insert(1...5)
        let before = cutoff.map { time($0) }
        var deletion = try workshop.store.beginDeletion(before: before)
        for _ in 0..<steps where !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        isOver = deletion.isFinished
        steps += 1
        try workshop.reopen()
        let left = try workshop.store.unfinishedDeletion()
        #expect((left != nil) == !isOver)
        if var left {
            #expect(left.cutoff == before)
            try workshop.insert(6)
            while !left.isFinished { try workshop.store.proceed(with: &left) }
        }
        #expect(try workshop.store.unfinishedDeletion() == nil, "it is over")
        let expected = (cutoff == nil ? [] : [4.0, 5.0]) + (isOver ? [] : [6.0])
        #expect(try workshop.stored().map(\.fix.time) == expected.map { time($0) })
        #expect(try workshop.directory.read("beekon.db-wal").count < 20_000)
    }
    #expect(steps > 5)
}
