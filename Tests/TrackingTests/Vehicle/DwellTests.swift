import Base
import Testing

@testable import Tracking

@Suite("dwell")
struct DwellTests {
    private func stay(_ key: Int64, at second: Double, for seconds: Double) -> Dwell.Stay {
        Dwell.Stay(key: key, entered: moment(second), seconds: seconds)
    }

    @Test("each stay once, when it has lasted")
    func lasts() {
        var dwell = Dwell()
        dwell.enter(stay(1, at: 0, for: 100))
        dwell.enter(stay(2, at: 50, for: 30))
        dwell.enter(stay(3, at: 0, for: 60))
        dwell.leave(3)
        var told: [String] = []
        for second in 50...300 {
            for stay in dwell.judge(at: moment(Double(second)), confirms: { _ in true }) {
                told.append("\(stay.key) at \(second)")
            }
        }
        #expect(told == ["2 at 80", "1 at 100"])
        #expect(dwell.stays == [])
        dwell.leave(9)
        dwell.enter(stay(1, at: 400, for: 100))
        #expect(dwell.judge(at: moment(499.9), confirms: { _ in true }) == [])
        #expect(dwell.judge(at: moment(500), confirms: { _ in true }).count == 1)
    }

    @Test("a fix outside, while the exit is not decided, brings none")
    func outside() {
        var dwell = Dwell([stay(1, at: 0, for: 100), stay(2, at: 0, for: 100)])
        #expect(dwell.judge(at: moment(200), confirms: { $0 == 2 }).map(\.key) == [2])
        dwell.leave(1)
        #expect(dwell.judge(at: moment(300), confirms: { _ in true }) == [])
    }

    @Test("across power-off it goes on from the persisted enter")
    func powerOff() {
        var before = Dwell()
        before.enter(stay(1, at: 0, for: 600))
        #expect(before.judge(at: moment(60), confirms: { _ in true }) == [])
        var after = Dwell(before.stays)
        #expect(after.judge(at: moment(40_000), confirms: { _ in true }) == [stay(1, at: 0, for: 600)])
        var told = Dwell(after.stays)
        #expect(told.judge(at: moment(50_000), confirms: { _ in true }) == [])
    }

    @Test("an enter by a clock that was ahead does not last for years")
    func clock() {
        var dwell = Dwell([stay(1, at: 1e8, for: 100)])
        #expect(dwell.judge(at: moment(0), confirms: { _ in true }) == [])
        #expect(dwell.judge(at: moment(99), confirms: { _ in true }) == [])
        #expect(dwell.judge(at: moment(100), confirms: { _ in true }).count == 1)
        dwell.enter(stay(2, at: 1000, for: 100))
        #expect(dwell.judge(at: moment(1050), confirms: { _ in true }) == [])
        #expect(dwell.judge(at: moment(500), confirms: { _ in true }) == [])
        #expect(dwell.judge(at: moment(600), confirms: { _ in true }).map(\.key) == [2])
    }
}
