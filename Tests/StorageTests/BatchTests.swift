import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Test("a frozen batch has the same bytes and the same id after a restart, whatever has come since")
func frozenForEver() throws {
    let workshop = try Workshop()
    let ids = try workshop.insert(1...5)
    let batch = try workshop.freeze(limit: 3)
    #expect(batch.ids == Array(ids[..<3]))
    try workshop.insert(2)
    for _ in 0..<3 {
        try workshop.reopen()
        #expect(try workshop.store.nextFrozen() == batch)
        #expect(try workshop.store.draftBatch(limit: 10) == nil, "one at a time")
    }
    #expect(try workshop.store.acknowledge(batch) == 3)
    #expect(try workshop.store.nextFrozen() == nil)
    #expect(try workshop.stored().map(\.fix.time) == [2, 4, 5].map(time))
}

@Test("an acknowledgement that comes twice counts once")
func acknowledgedTwice() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...5)
    let batch = try workshop.freeze(limit: 3)
    #expect(try workshop.store.acknowledge(batch) == 3)
    #expect(try workshop.store.acknowledge(batch) == 0)
    #expect(workshop.store.counts() == StoreCounts(locations: 2, pending: 2, oldestPending: time(4)))
}

@Test(
    "an acknowledgement and the next batch are one transaction, and the next is as it would have been",
    arguments: [false, true])
func acknowledgeAndFreeze(keepsUploaded: Bool) throws {
    let workshop = try Workshop(StoreOptions(keepsUploaded: keepsUploaded, destinations: .main))
    let ids = try workshop.insert(1...7)
    let first = try workshop.freeze(limit: 3)
    // It comes late: between the rows that are under way.
    let late = try workshop.insert(2)
    let draft = try #require(try workshop.store.draftBatch(limit: 3, after: first))
    let id = uuid(99)
    #expect(draft.locations.map(\.id) == [late] + ids[3...4])
    #expect(try workshop.store.acknowledge(first, freezing: draft, id: id, StoredRequest(body: [1, 2])) == 3)
    #expect(workshop.store.counts().pending == 5)
    try workshop.reopen()
    let second = try #require(try workshop.store.nextFrozen())
    #expect(second.id == id && second.request.body == [1, 2] && second.locations == 3)
    #expect(try workshop.store.acknowledge(first) == 0, "its key may be that of the next batch by now")
    #expect(try workshop.store.nextFrozen() == second)
    #expect(try workshop.store.acknowledge(second) == 3)
    #expect(try workshop.freeze().ids == Array(ids[5...]))
}

@Test("a next batch that lost rows meanwhile, or has another one before it, is not frozen")
func acknowledgeAndFreezeNothing() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...6)
    let first = try workshop.freeze(limit: 2)
    let draft = try #require(try workshop.store.draftBatch(limit: 2, after: first))
    _ = try workshop.delete(before: 3)
    #expect(try workshop.store.draftBatch(limit: 2, after: first) == nil, "it is dissolved")
    #expect(
        try workshop.store.acknowledge(first, freezing: draft, id: uuid(99), StoredRequest(body: [1])) == 0)
    #expect(try workshop.store.nextFrozen() == nil)
    #expect(workshop.store.counts().pending == 3)
}

@Test("a batch holds one session, the oldest first, and one version of the extras")
func oneSessionOneVersion() throws {
    let workshop = try Workshop()
    // The second session's fixes are older by their time: the order of the sessions counts.
    let first = try workshop.insert(100...102, session: 1, extras: #"{"a":1}"#)
    let second = try workshop.insert(1...2, session: 2)
    let third = try workshop.insert(3...3, session: 2, extras: #"{"b":2}"#)
    let fourth = try workshop.insert(4...4, session: 2)
    var batches: [(session: UUIDv7, extras: String?, ids: [UUIDv7])] = []
    while let draft = try workshop.store.draftBatch(limit: 10) {
        let batch = try #require(try workshop.freeze(draft))
        batches.append((draft.session, draft.extras, batch.ids))
        #expect(batch.session == draft.session && batch.locations == draft.locations.count)
        _ = try workshop.store.acknowledge(batch)
    }
    #expect(batches.map(\.session) == [uuid(1), uuid(2), uuid(2)])
    #expect(batches.map(\.extras) == [#"{"a":1}"#, nil, #"{"b":2}"#])
    #expect(batches.map(\.ids) == [first, second + fourth, third])
    #expect(workshop.store.counts() == StoreCounts())
}

@Test("extras keep their version over a restart")
func extrasVersions() throws {
    let workshop = try Workshop()
    for round in 0..<3 {
        _ = try workshop.insert(1...2, extras: #"{"a":1}"#)
        _ = try workshop.insert(3...4, extras: #"{"b":"ä\u0000"}"#)
        #expect(try workshop.count("extras") == 2, "round \(round)")
        try workshop.reopen()
    }
}

@Test(
    "sets of extras that no row has any more are forgotten; the others keep their rows", arguments: [0, 40])
func unusedExtras(kept: Int) throws {
    let workshop = try Workshop(StoreOptions(destinations: .main))
    for number in 0..<1200 {
        try workshop.insert(Double(number), extras: #"{"trip":"\#(number)"}"#)
        if workshop.store.counts().pending > kept {
            #expect(try workshop.store.acknowledge(try workshop.freeze()) == 1)
        }
    }
    #expect(try workshop.count("extras") <= 1001 + kept)
    try workshop.reopen()
    for number in 1200 - kept..<1200 {
        let draft = try #require(try workshop.store.draftBatch(limit: 10))
        #expect(draft.extras == #"{"trip":"\#(number)"}"#)
        _ = try workshop.store.acknowledge(try #require(try workshop.freeze(draft)))
    }
    #expect(workshop.store.counts() == StoreCounts())
}

@Test("a draft of which rows were deleted cannot be frozen; one that they spared can", arguments: [1.0, 5.0])
func draftInvalidated(from first: Double) throws {
    let workshop = try Workshop()
    _ = try workshop.insert(2...4)
    if first == 5 { _ = try workshop.store.acknowledge(try workshop.freeze()) }
    _ = try workshop.insert(5...7)
    let draft = try #require(try workshop.store.draftBatch(limit: 10))
    let isTouched = try workshop.delete(before: 4).removed > 0
    #expect(isTouched == (first == 1))
    let batch = try workshop.freeze(draft)
    if isTouched {
        #expect(batch == nil)
        #expect(try workshop.freeze().locations == 3)
    } else {
        #expect(batch == nil || batch?.locations == 3)
    }
}

@Test("a draft does not survive a failure between it and its freezing, when rows have left meanwhile")
func draftAfterFailure() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...5)
    let draft = try #require(try workshop.store.draftBatch(limit: 10))
    _ = try workshop.delete(before: 2)
    workshop.store.close()
    #expect(try workshop.freeze(draft) == nil)
    #expect(try workshop.freeze().ids.count == 3)
}

@Test("kept rows are marked, and not sent again")
func keepUploaded() throws {
    let workshop = try Workshop(StoreOptions(keepsUploaded: true, destinations: .main))
    _ = try workshop.insert(1...5)
    #expect(try workshop.store.acknowledge(try workshop.freeze(limit: 3)) == 3)
    #expect(workshop.store.counts() == StoreCounts(locations: 5, pending: 2, oldestPending: time(4)))
    try workshop.reopen()
    #expect(workshop.store.counts() == StoreCounts(locations: 5, pending: 2, oldestPending: time(4)))
    #expect(try workshop.freeze().locations == 2)
}

@Test("rejected rows become dead letters with their reason; the third rejection in a row raises a suspicion")
func rejections() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...10)
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 2), status: 422, at: time(50))
            == .deadLettered(2))
    #expect(
        try workshop.count("rejected WHERE http_status = 422 AND batch = x'\(hex(uuid(2_000_001)))'") == 2)
    #expect(
        workshop.store.counts() == StoreCounts(locations: 8, pending: 8, oldestPending: time(3), rejected: 2))
    try workshop.reopen()
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 2), status: 400, at: time(51))
            == .deadLettered(2))
    let third = try workshop.freeze(limit: 2)
    for _ in 0..<2 {
        #expect(try workshop.store.reject(third, status: 400, at: time(52)) == .suspected)
        #expect(try workshop.store.nextFrozen() == third)
        try workshop.reopen()
    }
    // Those before it are back.
    #expect(workshop.store.counts() == StoreCounts(locations: 10, pending: 10, oldestPending: time(1)))
    // One accepted batch ends the suspicion.
    #expect(try workshop.store.acknowledge(third) == 2)
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 2), status: 400, at: time(53))
            == .deadLettered(2))
}

@Test("an acknowledgement between starts the count of rejections again")
func rejectionsReset() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...20)
    for round in 0..<3 {
        for _ in 0..<2 {
            #expect(
                try workshop.store.reject(try workshop.freeze(limit: 2), status: 400, at: time(50))
                    == .deadLettered(2), "round \(round)")
        }
        _ = try workshop.store.acknowledge(try workshop.freeze(limit: 2))
    }
}

@Test("dead letters go after seven days, when the time can be believed", arguments: [true, false])
func deadLetterLifetime(isTimeTrusted: Bool) throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...9)
    let week = 7.0 * 86_400
    _ = try workshop.store.reject(try workshop.freeze(limit: 3), status: 400, at: time(50))
    _ = try workshop.store.reject(try workshop.freeze(limit: 3), status: 400, at: time(51))
    _ = try workshop.store.acknowledge(try workshop.freeze(limit: 1))
    _ = try workshop.store.reject(
        try workshop.freeze(limit: 2), status: 400, at: time(50.5 + week),
        trusted: isTimeTrusted ? time(50.5 + week) : nil)
    #expect(try workshop.count("rejected") == (isTimeTrusted ? 5 : 8))
    #expect(workshop.store.counts().rejected == (isTimeTrusted ? 5 : 8))
}

@Test("a full table of dead letters takes no more and evicts nothing")
func deadLetterCap() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...10)
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 4), status: 400, at: time(50))
            == .deadLettered(4))
    _ = try workshop.store.acknowledge(try workshop.freeze(limit: 1))
    workshop.store.close()
    try fillDeadLetters(workshop.directory.file("beekon.db"), upTo: 9999)
    let batch = try workshop.freeze(limit: 4)
    #expect(try workshop.store.reject(batch, status: 400, at: time(51)) == .full)
    #expect(try workshop.store.nextFrozen() == batch)
    #expect(workshop.store.counts().rejected == 9999)
    _ = try workshop.store.acknowledge(batch)
    #expect(
        try workshop.store.reject(try workshop.freeze(limit: 1), status: 400, at: time(52))
            == .deadLettered(1))
    #expect(workshop.store.counts() == StoreCounts(rejected: 10_000))
    #expect(try workshop.count("rejected") == 10_000)
}

/// Copies the first dead letter until there are so many.
private func fillDeadLetters(_ path: String, upTo count: Int) throws {
    let connection = try Connection(path: path, access: .readWrite)
    try connection.execute(
        """
        CREATE TEMP TABLE one AS SELECT * FROM rejected LIMIT 1;
        WITH RECURSIVE number(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM number WHERE n < \(count - 4))
        INSERT INTO rejected SELECT one.rejected_at - n, one.seq, one.destination, one.ts, one.session, one.id, one.lat, one.lng,
        one.accuracy, one.speed, one.bearing, one.altitude, one.mode, one."trigger", one.motion, one.activity,
        one.quality, one.is_mock, one.extras, one.odometer, one.mileage, one.batch, one.http_status, one.reason,
        one.ignition, one.battery FROM one, number
        """)
}

@Test("a rejected batch in two halves, down to the poison row")
func halves() throws {
    let workshop = try Workshop()
    let ids = try workshop.insert(1...7)
    _ = try workshop.insert(100...101)
    let poison = ids[4]
    var batch = try workshop.freeze(limit: 7)
    var sent: [UUIDv7] = []
    var isSearching = true
    while isSearching {
        if !batch.ids.contains(poison) {
            sent += batch.ids
            _ = try workshop.store.acknowledge(batch)
        } else if batch.locations == 1 {
            #expect(try workshop.store.reject(batch, status: 400, at: time(50)) == .deadLettered(1))
            isSearching = false
        } else {
            let halves = try workshop.store.halves(of: batch)
            #expect(halves.flatMap(\.locations).map(\.id) == batch.ids)
            let pieces = halves.enumerated().map {
                (
                    draft: $0.element, id: uuid(3_000_000 + sent.count * 10 + $0.offset),
                    request: StoredRequest(body: workshop.body(of: $0.element))
                )
            }
            try workshop.store.split(batch, into: pieces)
            try workshop.reopen()
        }
        while let next = try workshop.store.nextFrozen(), isSearching || next.isPiece {
            batch = next
            if isSearching { break }
            sent += batch.ids
            _ = try workshop.store.acknowledge(batch)
        }
    }
    #expect(Set(sent) == Set(ids).subtracting([poison]))
    #expect(sent.count == 6)
    #expect(workshop.store.counts().pending == 2)
    #expect(workshop.store.counts().rejected == 1)
}

@Test("pieces of an isolation raise no suspicion")
func piecesDoNotCount() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...8)
    let batch = try workshop.freeze(limit: 8)
    var drafts = try workshop.store.halves(of: batch)
    try workshop.store.split(
        batch,
        into: drafts.map {
            (draft: $0, id: uuid(Int($0.members.first?.seq ?? 0)), request: StoredRequest(body: []))
        })
    for _ in 0..<2 {
        let half = try #require(try workshop.store.nextFrozen())
        #expect(half.isPiece)
        drafts = try workshop.store.halves(of: half)
        try workshop.store.split(
            half,
            into: drafts.map {
                (draft: $0, id: uuid(90 + Int($0.members.first?.seq ?? 0)), request: StoredRequest(body: []))
            })
    }
    for _ in 0..<4 {
        let piece = try #require(try workshop.store.nextFrozen())
        #expect(try workshop.store.reject(piece, status: 400, at: time(50)) == .deadLettered(piece.locations))
    }
    #expect(workshop.store.counts() == StoreCounts(rejected: 8))
}

@Test("another endpoint dissolves only the batches that the old one refused for good")
func adopt() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...4)
    try workshop.store.adopt(endpoint: 1)
    let batch = try workshop.freeze(limit: 3)
    try workshop.store.adopt(endpoint: 2)
    #expect(try workshop.store.nextFrozen() == batch, "it may have been received")
    try workshop.store.markPermanent(batch)
    try workshop.store.adopt(endpoint: 2)
    #expect(try workshop.store.nextFrozen() == batch)
    try workshop.reopen()
    try workshop.store.adopt(endpoint: 3)
    #expect(try workshop.store.nextFrozen() == nil)
    #expect(try workshop.freeze(limit: 4).locations == 4)
    #expect(workshop.store.counts().pending == 4)
}

private func hex(_ id: UUIDv7) -> String {
    id.description.filter { $0 != "-" }
}
