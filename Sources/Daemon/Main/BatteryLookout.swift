internal import Base
internal import Linux
internal import Sensors
internal import Synchronization
internal import Tracking

/// The machine's batteries for whoever asks. They are read on a thread that is there for one reading only: a controller that is
/// slow, or never answers, keeps the asker for no longer than it has patience, and no second reading is begun meanwhile.
///
/// Where nobody asks, nothing is opened and no thread begun.
final class BatteryLookout: Sendable {
    private struct State: ~Copyable {
        var watch = BatteryWatch()
        /// Readable while no reading is under way; nil until the first.
        var ended: Wakeup?
    }

    private let state = Mutex(State())
    private let read: @Sendable () -> Battery?

    /// - Parameter read: asks the kernel; nil: there is none.
    init(read: @escaping @Sendable () -> Battery? = { BatteryReader.read(root: Machine.root) }) {
        self.read = read
    }

    /// What it says.
    ///
    /// - Parameters:
    ///   - age: seconds; an answer that is as old will do.
    ///   - patience: seconds to wait for a new one. After that, what was known before is told for a while.
    /// - Returns: nil: there is none, or it has not answered.
    func battery(notOlderThan age: Double, patience: Double, now: BootInstant) -> Battery? {
        let advice = state.withLock { state in
            let advice = state.watch.ask(notOlderThan: age, patience: patience, now: now)
            // Before anybody else can ask, who is then to wait for that.
            if advice == .read {
                if state.ended == nil { state.ended = try? Wakeup() }
                state.ended?.clear()
            }
            return advice
        }
        switch advice {
        case .take(let battery): return battery
        case .read:
            begin(now: now)
            return wait(seconds: patience, now: now)
        case .wait(let seconds): return wait(seconds: seconds, now: now)
        }
    }

    private func begin(now: BootInstant) {
        do {
            try startThread(named: "battery") { [self] in
                let battery = read()
                end { $0.end(with: battery, now: now) }
            }
        } catch {
            end { $0.giveUp() }
        }
    }

    private func end(_ note: (inout BatteryWatch) -> Void) {
        state.withLock { state in
            note(&state.watch)
            state.ended?.signal()
        }
    }

    private func wait(seconds: Double, now: BootInstant) -> Battery? {
        if let ended = state.withLock({ $0.ended }) {
            var rest = Rest()
            rest.add(ended.descriptor)
            rest.wait(seconds: seconds)
        }
        return state.withLock { $0.watch.latest(now: now) }
    }
}
