internal import Linux
internal import SQLite
internal import Synchronization

/// How long commits have taken since the start. To add one costs an increment: nothing is allocated and nothing written.
package final class CommitTimes: Sendable {
    /// Upper ends of the ranges, in seconds, in ascending order.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// What has been counted up to a moment.
    package struct Snapshot: Equatable, Sendable {
        /// How many were no longer than the bound of the same place, and longer than the one before; the last: longer than
        /// all.
        package var counts: [Int]
        /// The sum of all, in seconds.
        package var seconds: Double
    }

    private struct State {
        var counts = [Int](repeating: 0, count: CommitTimes.bounds.count + 1)
        var nanoseconds: Int64 = 0
    }

    private let state = Mutex(State())

    init() {}

    /// - Parameter nanoseconds: that one commit took.
    func add(nanoseconds: Int64) {
        let seconds = Double(nanoseconds) / 1e9
        state.withLock { state in
            var place = 0
            while place < Self.bounds.count, seconds > Self.bounds[place] { place += 1 }
            state.counts[place] += 1
            state.nanoseconds &+= nanoseconds
        }
    }

    /// Never waits for the disk.
    package func snapshot() -> Snapshot {
        state.withLock { state in
            // A copy of its own: sharing the array would make the next commit allocate another.
            Snapshot(counts: state.counts.map { $0 }, seconds: Double(state.nanoseconds) / 1e9)
        }
    }

    /// For the connection that writes.
    var meter: Connection.CommitMeter {
        Connection.CommitMeter(clock: Clock.boot) { [self] nanoseconds in add(nanoseconds: nanoseconds) }
    }
}
