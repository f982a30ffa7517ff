import Base
import Testing

@testable import Tracking

@Suite("batteries")
struct BatteryTests {
    private typealias Reading = Battery.Reading

    @Test(
        "several as one",
        arguments: [
            ([], nil),
            ([Reading(percent: 83, state: .charging)], Battery(percent: 83, state: .charging)),
            // Weighted where all say what they hold.
            (
                [
                    Reading(percent: 80, state: .unplugged, capacity: 50),
                    Reading(percent: 20, state: .unknown, capacity: 150),
                ], Battery(percent: 35, state: .unplugged)
            ),
            (
                [
                    Reading(percent: 80, state: .unplugged, capacity: 50),
                    Reading(percent: 20, state: .charging),
                ], Battery(percent: 50, state: .charging)
            ),
            (
                [
                    Reading(percent: 80, state: .full, capacity: 0),
                    Reading(percent: 21, state: .full, capacity: .nan),
                ], Battery(percent: 51, state: .full)
            ),
            (
                [Reading(percent: 100, state: .full), Reading(percent: 90, state: .unknown)],
                Battery(percent: 95, state: .unknown)
            ),
        ] as [([Battery.Reading], Battery?)])
    func several(readings: [Battery.Reading], expected: Battery?) {
        #expect(Battery(readings) == expected)
    }

    @Test("whether it charges, as phones say it")
    func charging() {
        #expect(
            Battery.State.allCases.map { Battery(percent: 1, state: $0).isCharging } == [
                nil, false, true, true,
            ])
        #expect(
            Battery(percent: 120, state: .full).level == 1 && Battery(percent: -3, state: .full).level == 0)
    }
}
