import Base
import Testing

@testable import Tracking

/// Stays in geofences, as the geofences find them.
@Suite("geofence stays")
struct GeofenceDwellTests {
    private func fence(_ id: String = "home", dwell: Double?, corners: Bool = false) throws -> Geofence {
        if corners {
            let ring = [[7.998, 49.998], [8.002, 49.998], [8.002, 50.002], [7.998, 50.002]]
            return try Geofence(id: id, ring: ring, dwell: dwell)
        }
        return try Geofence(id: id, latitude: 50, longitude: 8, radius: 100, dwell: dwell)
    }

    private func moment(_ second: Double) -> Timestamp {
        Timestamp(milliseconds: 1_700_000_000_000).advanced(bySeconds: second)
    }

    private func fix(_ second: Double, north: Double) throws -> Fix {
        Fix(
            time: moment(second), mode: 3,
            coordinate: try #require(Coordinate(latitude: 50 + north / 111_200, longitude: 8)), accuracy: 5,
            speed: 5)
    }

    /// What is told in these seconds, at each of which there is a fix.
    private func told(
        _ geofences: inout Geofences, _ seconds: ClosedRange<Int>, north: Double = 0
    ) throws -> [String] {
        try seconds.flatMap { second in
            let outcome = geofences.judge(try fix(Double(second), north: north))
            return outcome.crossings.map { "\($0.kind) at \(second)" }
                + outcome.stays.map { stay in
                    "\(stay.geofence) for \(stay.seconds) since \(stay.entered.seconds(since: moment(0))) "
                        + "at \(stay.time.seconds(since: moment(0)))"
                }
        }
    }

    @Test("one for each enter, by the time of fixes", arguments: [false, true])
    func once(isPolygon: Bool) throws {
        var geofences = Geofences()
        #expect(geofences.add([try fence(dwell: 60, corners: isPolygon)]) == nil)
        #expect(try told(&geofences, 0...200) == ["enter at 0", "home for 60.0 since 0.0 at 60.0"])
        #expect(try told(&geofences, 201...230, north: 900).map { $0.prefix(4) } == ["exit"])
        #expect(try told(&geofences, 300...359) == ["enter at 300"])
        #expect(try told(&geofences, 360...400) == ["home for 60.0 since 300.0 at 360.0"])
    }

    @Test("the enter is stored with the state, and forgotten with the stay")
    func changes() throws {
        var geofences = Geofences()
        _ = geofences.add([try fence(dwell: 2)])
        let key = try #require(geofences.items.first?.key)
        var changes: [Geofences.Change] = []
        for second in 0...3 { changes += geofences.judge(try fix(Double(second), north: 0)).changes }
        #expect(
            changes == [
                .init(key: key, isInside: true, enteredAt: moment(0)), .init(key: key, isInside: true),
            ])
        #expect(geofences.entered.isEmpty)
    }

    @Test("across power-off it counts from the enter, and what was told is not told again")
    func powerOff() throws {
        var before = Geofences()
        _ = before.add([try fence(dwell: 600)])
        #expect(try told(&before, 0...10) == ["enter at 0"])
        var after = Geofences(before.items, nextKey: before.nextKey, entered: before.entered)
        #expect(try told(&after, 5000...5001) == ["home for 600.0 since 0.0 at 5000.0"])
        var again = Geofences(after.items, nextKey: after.nextKey, entered: after.entered)
        #expect(try told(&again, 9000...9100) == [])
    }

    @Test("a fix outside brings none, and neither does a fence that was left meanwhile")
    func left() throws {
        var before = Geofences()
        _ = before.add([try fence(dwell: 600)])
        #expect(try told(&before, 0...10) == ["enter at 0"])
        var after = Geofences(before.items, nextKey: before.nextKey, entered: before.entered)
        #expect(try told(&after, 5000...5001, north: 900) == ["exit at 5000"])
        #expect(after.entered.isEmpty)
    }

    @Test("a fence that asks later counts from its enter; one that asks no more, or is another, has none")
    func changedFences() throws {
        var geofences = Geofences()
        _ = geofences.add([try fence(dwell: nil), try fence("other", dwell: 50)])
        #expect(try told(&geofences, 0...30) == ["enter at 0", "enter at 0"])
        _ = geofences.add([try fence(dwell: 40), try fence("other", dwell: nil)])
        #expect(try told(&geofences, 31...100) == ["home for 40.0 since 0.0 at 40.0"])
        _ = geofences.add([try fence("other", dwell: 70)])
        #expect(geofences.remove(["other"]) == 1)
        #expect(try told(&geofences, 101...200) == [])
    }

    @Test("bounds", arguments: [0, -1, .nan, .infinity, 31_536_001])
    func bounds(seconds: Double) throws {
        #expect(throws: Geofence.Invalid.self) { try fence(dwell: seconds) }
        #expect(throws: Geofence.Invalid.self) { try fence(dwell: seconds, corners: true) }
        #expect(try fence(dwell: 31_536_000).dwell == 31_536_000)
    }
}
