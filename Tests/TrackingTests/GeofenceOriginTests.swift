import Base
import Testing

@testable import Tracking

@Suite("whose geofences are") struct GeofenceOriginTests {
    private func circle(_ id: String, _ radius: Double = 100, dwell: Double? = nil) throws -> Geofence {
        try Geofence(id: id, latitude: 52.5163, longitude: 13.3777, radius: radius, dwell: dwell)
    }

    private func origins(_ fences: Geofences) -> [Geofences.Origin?] { fences.items.map(\.origin) }

    @Test("the same shape again keeps the first origin, another shape has that of who adds it")
    func firstOneStays() throws {
        var fences = Geofences()
        _ = fences.add([try circle("a")], by: .person)
        _ = fences.add([try circle("b")], by: .server)
        _ = fences.add([try circle("a", dwell: 5), try circle("c")], by: .server)
        _ = fences.add([try circle("b")], by: .person)
        #expect(origins(fences) == [.person, .server, .server])
        #expect(fences.personsAmong([try circle("a"), try circle("b", 7), try circle("new")]) == nil)
        #expect(fences.personsAmong([try circle("b", 7), try circle("a", 7)]) == "a")
        _ = fences.add([try circle("b", 7)], by: .person)
        #expect(origins(fences) == [.person, .person, .server])
        _ = fences.remove(["a"])
        #expect(fences.items.map(\.fence.id) == ["b", "c"] && origins(fences) == [.person, .server])
    }

    @Test("while those of servers are paused no fix says anything of them, and without others none is needed")
    func paused() throws {
        var fences = Geofences()
        _ = fences.add([try circle("s", dwell: 5)], by: .server)
        #expect(fences.needFixes)
        fences.pausesServers = true
        #expect(!fences.needFixes)
        _ = fences.add([try circle("p", dwell: 5)])
        #expect(fences.needFixes)
        var told: [String] = []
        func stay(_ times: ClosedRange<Int>) {
            for time in times {
                let outcome = fences.judge(fix(at: Double(time), north: 0))
                told +=
                    outcome.crossings.map { "\($0.geofence) \($0.kind)" }
                    + outcome.stays.map { "\($0.geofence) stays" }
            }
        }
        stay(0...9)
        #expect(told == ["p enter", "p stays"])
        #expect(fences.ofServers.map(\.isInside) == [nil])
        fences.pausesServers = false
        stay(10...19)
        #expect(told.suffix(2) == ["s enter", "s stays"])
    }

    @Test("what is forgotten at a stop is no evidence after it, and ends a stay that was waited for")
    func forgotten() throws {
        var fences = Geofences()
        _ = fences.add([try circle("s", dwell: 60)], by: .server)
        // One fix inside, of two that it takes.
        _ = fences.judge(fix(at: 0, north: 900))
        #expect(fences.judge(fix(at: 1, north: 0)).isEmpty)
        fences.forgetStates(of: fences.ofServers.map(\.key))
        #expect(fences.judge(fix(at: 3, north: 0)).isEmpty)
        #expect(fences.judge(fix(at: 4, north: 0)).crossings.map(\.kind) == [.enter])
        fences.forgetStates(of: fences.ofServers.map(\.key))
        for time in 5...5 + 120 { #expect(fences.judge(fix(at: Double(time), north: 900)).stays.isEmpty) }
    }

    @Test("those of which it was not known are settled, and keep all else")
    func settled() throws {
        let time = Timestamp(milliseconds: 1_805_097_600_000)
        var fences = Geofences(
            [
                .init(key: 3, fence: try circle("a"), isInside: true, addedAt: time),
                .init(key: 4, fence: try circle("b"), isInside: false),
                .init(key: 5, fence: try circle("c"), origin: .server),
            ], nextKey: 9, entered: [3: time])
        let before = fences.items
        fences.settleOrigins { $0.fence.id == "a" }
        #expect(origins(fences) == [.server, .person, .server])
        #expect(
            fences.items.map(\.isInside) == before.map(\.isInside) && fences.items.map(\.key) == [3, 4, 5])
        #expect(fences.nextKey == 9 && fences.entered == [3: time])
        fences.pausesServers = true
        #expect(fences.needFixes)
    }
}
