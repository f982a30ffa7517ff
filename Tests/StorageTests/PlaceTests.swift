import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// Where locations stand: by time, then by arrival.
@Suite("places")
struct PlaceTests {
    @Test("a time has its places between those of its neighbours", arguments: [0, 1, -1, start, -start])
    func times(ts: Int64) {
        #expect(Place(firstAt: ts).ts == ts && Place(lastAt: ts).ts == ts)
        #expect(Place(lastAt: ts - 1).next == Place(firstAt: ts))
        #expect(Place(lastAt: ts).next == Place(firstAt: ts + 1))
        #expect(Place(firstAt: ts).previous == Place(lastAt: ts - 1))
    }

    @Test("times beyond all calendars stop at the ends, and none lies outside of all places")
    func ends() {
        for (low, high) in [(Int64.min, Int64.max), (-1 << 50, 1 << 50)] {
            #expect(Place.first < Place(firstAt: low) && Place(lastAt: high) < Place.last)
            #expect(Place(firstAt: low).ts == -1 << 48 && Place(firstAt: high).ts == (1 << 48) - 1)
        }
        #expect(Place.first.previous == .first && Place.last.next == .last)
        // The year 9999, the last that gpsd can write.
        #expect(Place(firstAt: 253_402_300_799_999).ts == 253_402_300_799_999)
    }

    @Test("the database reads the same time from a place")
    func sameInSQL() throws {
        let workshop = try Workshop()
        for second in [-2_000_000_000.5, -1, 0, 1, 1.5] { try workshop.insert(second) }
        let connection = try Connection(
            path: workshop.directory.file("beekon.db"), access: .readOnly)
        let rows = try connection.prepare("SELECT place, ts FROM locations")
        var count = 0
        while try rows.step() {
            #expect(Place(rowid: rows.integer(0)).ts == rows.integer(1))
            count += 1
        }
        #expect(count == 5)
        #expect(try workshop.stored().map(\.fix.time) == [-2_000_000_000.5, -1, 0, 1, 1.5].map(time))
    }

    @Test("rows of one instant stand in the order of their arrival, whatever came before and behind")
    func oneInstant() throws {
        let workshop = try Workshop()
        let late = try workshop.insert(9)
        let first = try [workshop.insert(5), workshop.insert(5)]
        let early = try workshop.insert(1)
        try workshop.reopen()
        let second = try [workshop.insert(5), workshop.insert(9)]
        #expect(try workshop.stored().map(\.id) == [early] + first + [second[0], late, second[1]])
        #expect(try workshop.freeze(limit: 3).ids == [early] + first)
        // A third of that instant does not slip into the batch that ends there.
        let third = try workshop.insert(5)
        let batch = try #require(try workshop.store.nextFrozen())
        #expect(try workshop.store.acknowledge(batch) == 3)
        #expect(try workshop.stored().map(\.id) == [second[0], third, late, second[1]])
    }

    @Test("more rows of one millisecond than it has places go to the next")
    func fullMillisecond() throws {
        let workshop = try Workshop()
        let first = try workshop.insert(1)
        let last = Place(lastAt: time(1).milliseconds)
        workshop.store.close()
        do {
            let connection = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
            try connection.execute("UPDATE locations SET place = \(last.rowid)")
        }
        try workshop.reopen()
        let others = try [workshop.insert(1), workshop.insert(1), workshop.insert(1.001)]
        #expect(try workshop.stored().map(\.id) == [first] + others)
        #expect(
            try workshop.lines("SELECT place FROM locations")
                == [last, last.next, last.next.next, last.next.next.next].map { "\($0.rowid)" })
        try workshop.insert(1.002)
        #expect(try workshop.query("SELECT MAX(ts) FROM locations") == "\(time(1.002).milliseconds)")
    }

    @Test("dead letters of one instant come back behind what is there")
    func requeued() throws {
        let workshop = try Workshop()
        let old = try workshop.insert(1...3).map { $0 }
        _ = try workshop.store.reject(try workshop.freeze(), status: 400, at: time(9))
        let new = try [2, 2, 3].map { try workshop.insert($0) }
        var work = try workshop.store.begin(.requeue)
        while !work.isFinished { try workshop.store.proceed(with: &work) }
        #expect(
            try workshop.stored().map(\.id) == [old[0], new[0], new[1], old[1], new[2], old[2]])
        #expect(try workshop.freeze().ids.count == 6)
    }
}
