import Base
import Linux
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

private let boot = BootID(high: 7, low: 9)

private func mark(_ second: Double, _ metres: Double = 0) -> Trips.Mark {
    Trips.Mark(
        time: time(second), place: Coordinate(latitude: 52.5 + second / 1e5, longitude: 13.25),
        odometer: metres, topSpeed: second / 7, idle: 1 / 3)
}

private func trip(from start: Double, to last: Double, stays: Bool = false, settings: Int = 0) -> StoredTrip {
    StoredTrip(
        Trips.Open(
            start: mark(start), hasStarted: true, last: mark(last, last * 10),
            moved: mark(last, last * 10), stay: stays ? mark(last, last * 10) : nil),
        boot: boot, settings: settings)
}

/// A location at this second with as many times ten metres on the odometer.
private func drive(
    _ second: Double, _ trip: StoredTrip?, speed: Double? = nil, session: Int = 1, settings: Int = 0,
    in workshop: Workshop
) throws {
    var one = location(second, id: uuid(9000 + Int(second)))
    one.mileage = Int64(second * 10)
    one.motion = .moving
    one.fix.speed = speed
    _ = try workshop.store.insert(
        NewLocation(
            location: one, session: uuid(session), sessionStartedAt: time(0), odometer: second, extras: nil,
            prunesByAge: false, vehicle: NewVehicle(settings: settings, trip: trip)))
}

private func end(_ trips: [Trip], open: StoredTrip? = nil, in workshop: Workshop) throws {
    var new = NewEvents(
        events: [], changes: [], session: uuid(1), sessionStartedAt: time(0), isTracking: true, extras: nil,
        time: time(0), prunesByAge: false)
    new.trips = NewTrips(ended: trips, open: open)
    _ = try workshop.store.insert(new)
}

private func ended(_ start: Double, _ end: Double) -> Trip {
    Trip(
        start: time(start), end: time(end), startPlace: mark(start).place, endPlace: mark(end).place,
        metres: 123.5, topSpeed: nil, idle: 7)
}

private func trips(_ workshop: Workshop, from: Double? = nil, to: Double? = nil) throws -> [Trip] {
    try History(directory: workshop.directory.path).trips(from: from.map(time), to: to.map(time))
}

@Suite("what is kept of the vehicle")
struct VehicleTests {
    @Test("a trip under way reads back as it was written; what is none is refused")
    func text() throws {
        for stays in [false, true] {
            var whole = trip(from: 1, to: 1.5, stays: stays, settings: 3)
            whole.open.start.place = nil
            whole.open.last.topSpeed = nil
            whole.open.start.odometer = -4
            let text = try #require(whole.text)
            #expect(StoredTrip(text: text) == whole)
            // In the same order in each process, so that its row changes no more than it must.
            let keys = ["boot", "marks", "set", "told"].compactMap {
                text.firstRange(of: "\"\($0)\"")?.lowerBound
            }
            #expect(keys.count > 2 && keys == keys.sorted())
            #expect(text.utf8.count < 400)
            #expect(StoredTrip(text: String(text.dropLast(3))) == nil)
        }
        for other in ["", "{}", "null", #"{"told":true,"set":0,"marks":[[1,2],[1],[]]}"#] {
            #expect(StoredTrip(text: other) == nil)
        }
    }

    @Test(
        "the odometer and the trip are those of the newest location, also when that has left, or ended badly")
    func tail() throws {
        let workshop = try Workshop()
        #expect(try workshop.store.vehicle() == VehicleMemory())
        try drive(1, nil, in: workshop)
        try drive(2, trip(from: 1, to: 2), settings: 1, in: workshop)
        try drive(3, trip(from: 1, to: 3), settings: 1, in: workshop)
        for step in 0...4 {
            switch step {
            case 1: try workshop.reopen()
            case 2: _ = try workshop.store.acknowledge(try workshop.freeze())
            case 3: try workshop.reopen()
            case 4: _ = try workshop.store.enter(session: uuid(2), startedAt: time(5))
            default: break
            }
            let found = try workshop.store.vehicle()
            #expect(found.odometer?.metres == 30, "step \(step)")
            #expect(found.odometer?.settings == 1)
            if step < 4 { #expect(found.odometer?.place?.time == time(3)) }
            #expect(found.trip?.open.start == mark(1))
            #expect(found.trip?.boot == boot)
            // Between its beginning and the next time that rows leave, the sums are those that rows tell.
            #expect(found.trip?.open.last.time == time(3))
            #expect(found.trip?.open.last.odometer == 30)
        }
        #expect(try workshop.query("SELECT COUNT(*) FROM sessions WHERE trip IS NOT NULL") == "1")
    }

    @Test("a trip under way costs no write of its own until it turns")
    func cost() throws {
        let workshop = try Workshop()
        try drive(1, trip(from: 1, to: 1), in: workshop)
        let written = try workshop.query("SELECT trip FROM sessions")
        for second in 2...9 { try drive(Double(second), trip(from: 1, to: Double(second)), in: workshop) }
        #expect(try workshop.query("SELECT trip FROM sessions") == written)
        try drive(10, trip(from: 1, to: 10, stays: true), in: workshop)
        #expect(try workshop.query("SELECT trip FROM sessions") != written)
        try drive(11, nil, in: workshop)
        #expect(try workshop.count("sessions WHERE trip IS NOT NULL") == 0)
    }

    @Test("what was stored since a trip was written down belongs to it")
    func takenUp() throws {
        let workshop = try Workshop()
        try drive(1, trip(from: 1, to: 1), in: workshop)
        try drive(2, trip(from: 1, to: 2), speed: 31, in: workshop)
        try drive(3, trip(from: 1, to: 3), speed: 0, in: workshop)
        try drive(9, trip(from: 1, to: 9), speed: 0, in: workshop)
        try workshop.reopen()
        let last = try #require(try workshop.store.vehicle().trip?.open.last)
        #expect(last.topSpeed == 31)
        #expect(abs(last.idle - (1.0 / 3 + 6)) < 1e-9)
        #expect(last.odometer == 90)
    }

    @Test("trips that end are kept, once each, a thousand of them, and end the one under way")
    func table() throws {
        let workshop = try Workshop()
        try drive(1, trip(from: 1, to: 1), in: workshop)
        for _ in 0..<2 { try end([ended(1, 5)], in: workshop) }
        #expect(try trips(workshop) == [ended(1, 5)])
        #expect(try workshop.store.vehicle().trip == nil)
        try end((2...1005).map { ended(Double($0) * 10, Double($0) * 10 + 5) }, in: workshop)
        #expect(try trips(workshop).count == 1000)
        #expect(try trips(workshop, from: 10_045, to: 10_050).map(\.start) == [time(10_040), time(10_050)])
        try workshop.reopen()
        #expect(try trips(workshop, from: 10_050).count == 1)
    }

    @Test("a deletion erases places, up to its cutoff or all, and keeps the sums", arguments: [nil, 6.0])
    func deletion(cutoff: Double?) throws {
        let workshop = try Workshop()
        try end([ended(1, 5), ended(6, 8), ended(9, 12)], in: workshop)
        try drive(4, trip(from: 4, to: 7), in: workshop)
        _ = try workshop.delete(before: cutoff)
        let isDoomed = { (second: Double) in cutoff.map { second <= $0 } ?? true }
        for trip in try trips(workshop) {
            #expect((trip.startPlace == nil) == isDoomed(trip.start.seconds(since: time(0))))
            #expect((trip.endPlace == nil) == isDoomed(trip.end.seconds(since: time(0))))
            #expect(trip.metres == 123.5)
        }
        for _ in 0..<2 {
            let open = try #require(try workshop.store.vehicle().trip?.open)
            #expect(open.start.place == nil)
            #expect((open.last.place == nil) == isDoomed(7))
            #expect(try workshop.store.vehicle().odometer?.metres == 40)
            try workshop.reopen()
        }
    }

    @Test("what still reads of a damaged database is saved of the vehicle, too")
    func salvage() throws {
        let workshop = try Workshop()
        try end([ended(1, 5), ended(6, 8)], in: workshop)
        for second in 10...400 {
            try drive(Double(second), trip(from: 10, to: Double(second)), settings: 2, in: workshop)
        }
        workshop.store.close()
        var bytes = try workshop.directory.read("beekon.db")
        let root = try #require(
            Int(try workshop.query("SELECT rootpage FROM sqlite_schema WHERE name = 'geofence_states'") ?? "")
        )
        bytes.replaceSubrange((root - 1) * 1024..<root * 1024, with: [UInt8](repeating: 0xA5, count: 1024))
        let saved = try Workshop(database: bytes)
        guard case .quarantined = saved.store.takeEvents().first else {
            Issue.record("nothing was moved aside")
            return
        }
        #expect(try trips(saved) == [ended(1, 5), ended(6, 8)])
        let found = try saved.store.vehicle()
        #expect(found.odometer?.metres == 4000)
        #expect(found.odometer?.settings == 2)
        #expect(found.trip?.open.start == mark(10))
        #expect(
            try saved.stored().allSatisfy { $0.mileage == Int64($0.fix.time.seconds(since: time(0)) * 10) })
    }

    @Test("dead letters keep the odometer")
    func deadLetters() throws {
        let workshop = try Workshop()
        try drive(1, nil, in: workshop)
        _ = try workshop.store.reject(try workshop.freeze(limit: 1), status: 422, at: time(30))
        let history = try History(directory: workshop.directory.path)
        var cursor = RejectedCursor()
        #expect(try history.next(&cursor).first?.location?.mileage == 10)
    }

    @Test("the small file reads back, and what is none is moved aside")
    func file() throws {
        let directory = try TemporaryDirectory()
        let files = SmallFiles(try StateDirectory(directory.path))
        #expect(files.read(StoredOdometer.self).content == nil)
        for place in [nil, Odometer.Place(time: time(1), coordinate: try #require(mark(1).place))] {
            let memory = Odometer.Memory(metres: 1234.25, settings: 3, place: place)
            try files.write(StoredOdometer(memory))
            #expect(files.read(StoredOdometer.self).content?.value == memory)
        }
        try files.remove(StoredOdometer.self)
        #expect(try directory.names().isEmpty)
        for text in [
            #"{"metres":-1,"settings":0}"#, #"{"metres":1e13,"settings":0}"#, #"{"metres":1,"settings":-1}"#,
        ] {
            try directory.write("odometer.json", Array(text.utf8))
            #expect(files.read(StoredOdometer.self).content == nil)
            #expect(files.read(StoredOdometer.self).trouble == nil)
        }
    }
}
