import Base
import Glibc
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Test("every value and every absence comes back from the database")
func everyField() throws {
    let workshop = try Workshop()
    var expected: [Location] = []
    let values: [Double?] = [nil, 0, 12.3456789012345, -0.0, 1e-300]
    for index in 0..<120 {
        var location = location(Double(index), id: uuid(index + 1), latitude: Double(index) / 3 - 20)
        location.session = uuid(9)
        location.trigger = Trigger.allCases[index % Trigger.allCases.count]
        location.motion = MotionState.allCases[index % MotionState.allCases.count]
        location.activity = ([nil] + Activity.allCases)[index % (Activity.allCases.count + 1)]
        location.quality = ([nil] + Quality.allCases)[index % (Quality.allCases.count + 1)]
        location.fix.mode = 2 + index % 2
        location.fix.isMock = index % 4 == 0
        location.fix.accuracy = values[index % 5]
        location.fix.speed = values[(index + 1) % 5]
        location.fix.bearing = values[(index + 2) % 5]
        location.fix.altitude = values[(index / 5) % 5]
        location.ignition = [nil, true, false][index % 3]
        let state = Battery.State.allCases[index % 4]
        location.battery = index % 7 == 0 ? nil : Battery(percent: index % 101, state: state)
        _ = try workshop.store.insert(
            NewLocation(
                location: location, session: uuid(9), sessionStartedAt: time(0), odometer: Double(index),
                extras: nil,
                prunesByAge: false))
        expected.append(location)
    }
    #expect(try workshop.stored() == expected)
    #expect(try workshop.store.latestLocation() == expected.last)
    try workshop.reopen()
    #expect(try workshop.stored() == expected)
    #expect(try workshop.store.draftBatch(limit: 1000)?.locations == expected)
}

@Test("a battery or an ignition that no version writes is none, and the row is read all the same")
func strangeLevels() throws {
    let workshop = try Workshop()
    for second in 1...4 { try workshop.insert(Double(second)) }
    let connection = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
    for (second, battery) in [(1, 101 << 3), (2, 50 << 3 | 4), (3, -1), (4, 83 << 3 | 2)] {
        try connection.execute(
            "UPDATE locations SET ignition = 7, battery = \(battery) WHERE seq = (SELECT seq FROM locations "
                + "ORDER BY ts LIMIT 1 OFFSET \(second - 1))")
    }
    let rows = try workshop.stored()
    #expect(rows.map(\.battery) == [nil, nil, nil, Battery(percent: 83, state: .charging)])
    #expect(rows.allSatisfy { $0.ignition == true })
}

@Test("pages of history are inclusive at both ends, ascending, and of one session when asked")
func historyPages() throws {
    let workshop = try Workshop()
    for second in [5, 3, 1, 4, 2] { try workshop.insert(Double(second)) }
    for second in [2, 3] { try workshop.insert(Double(second), session: 2) }
    let history = try History(directory: workshop.directory.path)
    func read(_ from: Double?, _ to: Double?, session: Int? = nil, page: Int) throws -> [Double] {
        var cursor = LocationCursor(from: from.map(time), to: to.map(time), session: session.map(uuid))
        var all: [Double] = []
        while !cursor.isAtEnd {
            let locations = try history.next(&cursor, limit: page)
            try #require(locations.count <= page)
            all += locations.map { $0.fix.time.seconds(since: time(0)) }
        }
        return all
    }
    for page in [1, 2, 3, 7, 1000] {
        #expect(try read(nil, nil, page: page) == [1, 2, 2, 3, 3, 4, 5])
        #expect(try read(2, 4, page: page) == [2, 2, 3, 3, 4])
        #expect(try read(2.001, 3.999, page: page) == [3, 3])
        #expect(try read(6, nil, page: page) == [])
        #expect(try read(4, 2, page: page) == [])
        #expect(try read(nil, nil, session: 1, page: page) == [1, 2, 3, 4, 5])
        #expect(try read(2, 3, session: 2, page: page) == [2, 3])
        #expect(try read(nil, nil, session: 3, page: page) == [])
    }
}

@Test("whoever pages through while rows are written and pruned sees each row once, in order")
func historyWhileWriting() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 300, destinations: .main))
    _ = try workshop.insert(1...300)
    let history = try History(directory: workshop.directory.path)
    var cursor = LocationCursor(from: nil, to: time(1000))
    var seen: [Timestamp] = []
    var second = 300.0
    var newest = second
    while !cursor.isAtEnd {
        newest = second
        seen += try history.next(&cursor, limit: 7).map(\.fix.time)
        for _ in 0..<3 where second < 600 {
            second += 1
            try workshop.insert(second)
        }
    }
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
    #expect(seen.last == time(newest))
    #expect(seen.count > 400)
}

@Test("neither ids nor places are given again after everything has been drained, deleted and reopened")
func sequenceNeverReused() throws {
    let workshop = try Workshop()
    var last: Int64 = 0
    func newest() throws -> Int64 { Int64(try workshop.query("SELECT MAX(seq) FROM locations") ?? "") ?? 0 }
    for round in 0..<6 {
        try workshop.insert(Double(round))
        try workshop.insert(Double(round))
        #expect(try newest() == last + 2)
        last = try newest()
        if round % 2 == 0 {
            _ = try workshop.store.acknowledge(try workshop.freeze())
        } else {
            _ = try workshop.delete()
        }
        #expect(try workshop.count("locations") == 0)
        try workshop.reopen()
    }
}

@Test("the last fix of a session is known again after its row was acknowledged, and after a restart")
func tailSurvives() throws {
    let workshop = try Workshop()
    try workshop.insert(1)
    try workshop.insert(2)
    let expected = try #require(try workshop.store.enter(session: uuid(1), startedAt: time(0)))
    #expect(expected.reference?.time == time(2))
    #expect(expected.odometer == 2)
    try workshop.reopen()
    #expect(try workshop.store.enter(session: uuid(1), startedAt: time(0)) == expected)
    _ = try workshop.store.acknowledge(try workshop.freeze())
    try workshop.reopen()
    #expect(try workshop.store.enter(session: uuid(1), startedAt: time(0)) == expected)
    #expect(try workshop.store.enter(session: uuid(2), startedAt: time(9))?.reference == nil)
}

/// What may happen between the last fix and the moment when its row leaves.
enum Leaving: CaseIterable { case acknowledged, rejected, deleted }

@Test(
    "the last fix is known also when its row leaves before the session is entered again",
    arguments: Leaving.allCases)
func tailSurvivesUnentered(leaving: Leaving) throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...3)
    try workshop.reopen()
    switch leaving {
    case .acknowledged: _ = try workshop.store.acknowledge(try workshop.freeze())
    case .rejected: _ = try workshop.store.reject(try workshop.freeze(), status: 400, at: time(9))
    case .deleted: _ = try workshop.delete()
    }
    #expect(try workshop.sessions().first?.locations == 3)
    try workshop.reopen()
    let tail = try workshop.store.enter(session: uuid(1), startedAt: time(0))
    // What the user deletes leaves no position behind.
    #expect(tail?.reference?.time == (leaving == .deleted ? nil : time(3)))
    #expect(tail?.odometer == 3)
    try workshop.insert(4)
    #expect(try workshop.query("SELECT seq FROM locations") == "4")
}

@Test("a row that comes after its session has been closed, or another begun, spoils nothing")
func lateRows() throws {
    let workshop = try Workshop()
    try workshop.insert(1)
    try workshop.store.close(session: uuid(1), at: time(5))
    try workshop.insert(2)
    try workshop.insert(3, session: 2)
    try workshop.store.close(session: uuid(1), at: time(6))
    for _ in 0..<2 { _ = try workshop.store.acknowledge(try workshop.freeze()) }
    try workshop.reopen()
    let tails = try [1, 2].map { try workshop.store.enter(session: uuid($0), startedAt: time(0)) }
    #expect(tails.map { $0?.reference?.time } == [time(2), time(3)])
    #expect(try workshop.sessions().map(\.stoppedAt) == [time(6), time(3)])
}

@Test("a row that reached the file although its write failed is not written twice")
func noRowTwice() throws {
    let workshop = try Workshop()
    let path = workshop.directory.file("beekon.db")
    var writer = try Writer.open(path, options: workshop.options)
    let new = NewLocation(
        location: location(1, id: uuid(5)), session: uuid(1), sessionStartedAt: time(0), odometer: 0,
        extras: nil,
        prunesByAge: false)
    try writer.insert(new, mayExist: false)
    try writer.insert(new, mayExist: true)
    #expect(writer.ledger.locations.rows == 1)
    #expect(try workshop.count("locations") == 1)
}

/// A row that reaches the file although its write fails.
private func insertUnsure(in workshop: Workshop) -> NewLocation {
    let new = NewLocation(
        location: location(1, id: uuid(5)), session: uuid(1), sessionStartedAt: time(0), odometer: 0,
        extras: nil, prunesByAge: false)
    #expect(throws: StorageError.self) {
        _ = try workshop.store.insert(RowName(new)) { (writer, mayExist) throws(SQLiteError) in
            try writer.insert(new, mayExist: mayExist)
            throw SQLiteError(operation: "COMMIT", code: .ioError, message: "failed")
        }
    }
    return new
}

@Test("nor is it written again after it was sent and deleted meanwhile")
func noRowTwiceOnceSent() throws {
    let workshop = try Workshop()
    let new = insertUnsure(in: workshop)
    #expect(try workshop.store.acknowledge(try workshop.freeze()) == 1)
    #expect(try workshop.store.insert(new) == 0)
    #expect(try workshop.count("locations") == 0)
    try workshop.insert(2)
    #expect(workshop.store.counts().pending == 1)
}

@Test("a row that had reached a database which is gone since is written again", arguments: [true, false])
func rowOfAFormerDatabase(isDamaged: Bool) throws {
    let workshop = try Workshop()
    let new = insertUnsure(in: workshop)
    // The uploader opens the database, and finds the row.
    _ = try workshop.store.nextFrozen()
    if isDamaged {
        let file = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
        try file.execute("DELETE FROM locations")
        #expect(throws: StorageError.self) {
            try workshop.store.perform("damage") { (_: inout Writer) throws(SQLiteError) in
                throw SQLiteError(operation: "read", code: .corrupt, message: "damaged")
            }
        }
    } else {
        for suffix in ["", "-wal", "-shm"] { unlink(workshop.directory.file("beekon.db" + suffix)) }
    }
    #expect(try workshop.store.insert(new) == 1)
    #expect(try workshop.count("locations") == 1)
}

@Test("a write that fails closes the database, and the next one opens it again")
func failedWrite() throws {
    let workshop = try Workshop()
    try workshop.insert(1)
    // Somebody else holds the write lock, as nobody should.
    let intruder = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
    try intruder.execute("BEGIN IMMEDIATE")
    #expect(throws: StorageError.self) { try workshop.insert(2) }
    #expect(throws: StorageError.self) { try workshop.insert(2) }
    try intruder.execute("ROLLBACK")
    try workshop.insert(3)
    #expect(try workshop.stored().map(\.fix.time) == [time(1), time(3)])
    #expect(workshop.store.counts().locations == 2)
}

@Test("the cap prunes the oldest rows, and counts those that nobody has received", arguments: [true, false])
func rowCap(isSyncing: Bool) throws {
    let workshop = try Workshop(StoreOptions(maxRows: 10, destinations: isSyncing ? .main : []))
    _ = try workshop.insert(1...25)
    #expect(try workshop.stored().map(\.fix.time) == (16...25).map { time(Double($0)) })
    #expect(workshop.store.counts().locations == 10)
    #expect(workshop.store.counts().losses.dropped == 15)
    #expect(workshop.store.counts().oldestPending == time(16))
    workshop.store.close()
    try workshop.insert(26)
    #expect(workshop.store.counts().locations == 10)
    #expect(workshop.store.counts().losses.dropped == 16, "over all restarts")
}

@Test("the row just written stays, though it is the oldest of all")
func capKeepsNewest() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 3, destinations: .main))
    _ = try workshop.insert(10...12)
    try workshop.insert(1)
    #expect(try workshop.stored().map(\.fix.time) == [1, 11, 12].map(time))
    workshop.options.maxRows = 1
    try workshop.insert(0)
    #expect(try workshop.stored().map(\.fix.time) == [time(0)])
}

@Test("the cap spares the rows of a frozen batch, and of one that is about to be frozen")
func capSparesBatches() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 10, destinations: .main))
    _ = try workshop.insert(1...10)
    let draft = try #require(try workshop.store.draftBatch(limit: 4))
    _ = try workshop.insert(11...20)
    #expect(try workshop.stored().map(\.fix.time) == ([1, 2, 3, 4] + (15...20).map(Double.init)).map(time))
    let batch = try #require(try workshop.freeze(draft))
    _ = try workshop.insert(21...30)
    #expect(try workshop.stored().map(\.fix.time) == ([1, 2, 3, 4] + (25...30).map(Double.init)).map(time))
    try workshop.reopen()
    _ = try workshop.insert(31...31)
    #expect(try workshop.store.acknowledge(batch) == 4)
    #expect(workshop.store.counts().locations == 6)
}

@Test("a lowered cap is reached in steps that do not stall a write")
func loweredCap() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 1000, destinations: []))
    _ = try workshop.insert(1...500)
    workshop.options.maxRows = 10
    try workshop.insert(501)
    #expect(workshop.store.counts().locations == 401)
    _ = try workshop.insert(502...510)
    #expect(workshop.store.counts().locations == 10)
}

@Test("age prunes what is old, unless it was never sent")
func agePruning() throws {
    let day = 86_400.0
    for isSyncing in [false, true] {
        let workshop = try Workshop(StoreOptions(retention: 7 * day, destinations: isSyncing ? .main : []))
        _ = try workshop.insert(1...3)
        try workshop.insert(7 * day + 2.5, prunesByAge: false)
        #expect(workshop.store.counts().locations == 4, "the time is not trusted")
        try workshop.insert(7 * day + 2.5, prunesByAge: true)
        #expect(workshop.store.counts().locations == (isSyncing ? 5 : 3))
        #expect(workshop.store.counts().losses.dropped == 0)
    }
}

@Test("age prunes rows that were kept after their upload")
func agePruningUploaded() throws {
    let day = 86_400.0
    let workshop = try Workshop(StoreOptions(retention: 7 * day, keepsUploaded: true, destinations: .main))
    _ = try workshop.insert(1...3)
    _ = try workshop.store.acknowledge(try workshop.freeze(limit: 2))
    #expect(workshop.store.counts() == StoreCounts(locations: 3, pending: 1, oldestPending: time(3)))
    #expect(try workshop.count("locations WHERE uploaded = 1") == 2)
    try workshop.insert(8 * day, prunesByAge: true)
    #expect(try workshop.stored().map(\.fix.time) == [time(3), time(8 * day)])
    #expect(workshop.store.counts() == StoreCounts(locations: 2, pending: 2, oldestPending: time(3)))
}
