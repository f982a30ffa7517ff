import Base
import Linux
import Support
import Synchronization
import Testing
import Tracking

@testable import Daemon

@Suite("batteries that answer, and that do not")
struct BatteryLookoutTests {
    private final class Machine: Sendable {
        let readings = Atomic(0)
        /// A thread that reads the battery stands here.
        let gate: Mutex<Battery?>

        init(_ battery: Battery?) { gate = Mutex(battery) }

        func read() -> Battery? {
            readings.add(1, ordering: .relaxed)
            return gate.withLock { $0 }
        }
    }

    private final class Answers: Sendable {
        let found = Mutex<[Battery?]>([])
    }

    private static let half = Battery(percent: 50, state: .charging)

    private func at(_ seconds: Double) -> BootInstant {
        BootInstant(nanoseconds: 0).advanced(bySeconds: seconds)
    }

    /// Seconds, for an answer that comes; a test that waits for as long has failed.
    private static let long = 30.0

    @Test("an answer is waited for, and kept")
    func answers() {
        let machine = Machine(Self.half)
        let lookout = BatteryLookout { machine.read() }
        for second in [0, 1, 59.9] {
            #expect(lookout.battery(notOlderThan: 60, patience: Self.long, now: at(second)) == Self.half)
        }
        #expect(machine.readings.load(ordering: .relaxed) == 1)
        machine.gate.withLock { $0 = nil }
        #expect(lookout.battery(notOlderThan: 60, patience: Self.long, now: at(60)) == nil)
        #expect(machine.readings.load(ordering: .relaxed) == 2)
    }

    /// Without an end of its own patience this test never ends.
    @Test("one that never answers keeps nobody, and is asked once")
    func hangs() {
        let machine = Machine(Self.half)
        let lookout = BatteryLookout { machine.read() }
        #expect(lookout.battery(notOlderThan: 60, patience: Self.long, now: at(0)) == Self.half)
        machine.gate.withLock { battery in
            battery = Battery(percent: 40, state: .unplugged)
            // While this lock is held no reading ends.
            for second in [60.0, 61, 120, 599] {
                #expect(lookout.battery(notOlderThan: 60, patience: 0.01, now: at(second)) == Self.half)
            }
            #expect(lookout.battery(notOlderThan: 60, patience: 0.01, now: at(601)) == nil)
        }
        #expect(machine.readings.load(ordering: .relaxed) <= 2)
        // It has come to itself; the next asker hears it.
        #expect(
            wait {
                lookout.battery(notOlderThan: 60, patience: 0.01, now: at(602))
                    == Battery(percent: 40, state: .unplugged)
            })
        #expect(machine.readings.load(ordering: .relaxed) <= 3)
    }

    @Test("many askers at once have one reading")
    func together() throws {
        let machine = Machine(Self.half)
        let lookout = BatteryLookout { machine.read() }
        let answers = Answers()
        for _ in 0..<4 {
            try startThread(named: "asker") {
                let now = BootInstant(nanoseconds: 0).advanced(bySeconds: 5)
                let found = lookout.battery(notOlderThan: 60, patience: Self.long, now: now)
                answers.found.withLock { $0.append(found) }
            }
        }
        #expect(wait(upTo: Self.long) { answers.found.withLock { $0.count == 4 } })
        #expect(answers.found.withLock { $0 } == Array(repeating: Self.half, count: 4))
        #expect(machine.readings.load(ordering: .relaxed) == 1)
    }
}
