import Base
import EnvelopeReader
import Testing

@testable import API

@Suite("trips") struct TripTests {
    private static let id = UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")

    /// - Parameter motion: `m` moving, `s` stationary, `u` unknown with a speed.
    private func row(_ seconds: Double, north metres: Double, _ motion: Character, speed: Double? = nil)
        throws
        -> LocationRow
    {
        let codes: [Character: Int16] = ["m": 0, "s": 1 << 3, "u": 2 << 3]
        return LocationRow(
            id: try #require(Self.id), time: Timestamp(milliseconds: Int64(seconds * 1000)),
            latitude: metres / 111_195.08, longitude: 0, speed: speed,
            codes: Codes(rawValue: codes[motion] ?? 0))
    }

    private func trips(_ rows: [LocationRow]) -> [Trip] {
        var finder = TripFinder()
        return rows.compactMap { finder.add($0) } + [finder.finish()].compactMap { $0 }
    }

    @Test("a trip ends where the stay begins, and a short stop is part of it") func stays() throws {
        let rows = [
            try row(0, north: 0, "s"), try row(10, north: 0, "m", speed: 3),
            try row(20, north: 100, "m", speed: 9),
            // A traffic light.
            try row(30, north: 100, "s"), try row(200, north: 110, "m"), try row(210, north: 210, "m"),
            // Parked.
            try row(220, north: 210, "s"), try row(600, north: 210, "s"),
            try row(700, north: 210, "m"), try row(710, north: 310, "m"),
        ]
        let found = trips(rows)
        #expect(found.map(\.duration) == [200, 10])
        #expect(found.map { $0.distance.rounded() } == [210, 100])
        #expect(found.first?.topSpeed == 9 && found.first?.locations == 5)
    }

    @Test("a gap without locations ends a trip; one location is none; speed tells where motion does not")
    func gaps() throws {
        let rows = [
            try row(0, north: 0, "m"), try row(10, north: 50, "m"), try row(400, north: 60, "m"),
            try row(800, north: 0, "u", speed: 2), try row(805, north: 10, "u", speed: 2),
            try row(810, north: 20, "u", speed: 0.5),
        ]
        let found = trips(rows)
        #expect(found.map(\.duration) == [10, 5])
        #expect(trips([]) == [])
    }
}
