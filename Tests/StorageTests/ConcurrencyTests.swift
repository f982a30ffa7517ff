import Base
import Linux
import Support
import Synchronization
import Testing

@testable import Storage
@testable import Tracking

/// A thread that reads the whole history again and again, as the main thread of the daemon does for its clients.
private final class HistoryReader: Sendable {
    private struct State {
        var rounds = 0
        var isWanted = true
        var hasEnded = false
        var failure: String?
    }

    private let state = Mutex(State())

    var rounds: Int { state.withLock { $0.rounds } }

    func start(_ directory: String) throws {
        try startThread(named: "history") { [self] in
            let failure = read(directory)
            state.withLock { ($0.failure, $0.hasEnded) = (failure, true) }
        }
    }

    /// Ends the thread and returns what went wrong in it.
    func stop() -> String? {
        state.withLock { $0.isWanted = false }
        return wait { state.withLock { $0.hasEnded } }
            ? state.withLock { $0.failure } : "the thread does not end"
    }

    private func read(_ directory: String) -> String? {
        do {
            let history = try History(directory: directory)
            while state.withLock({ $0.isWanted }) {
                var cursor = LocationCursor(from: nil, to: nil)
                var last = Timestamp(milliseconds: .min)
                while !cursor.isAtEnd, state.withLock({ $0.isWanted }) {
                    for location in try history.next(&cursor) {
                        guard location.fix.time > last else {
                            return "\(location.fix.time) comes after \(last)"
                        }
                        last = location.fix.time
                    }
                }
                state.withLock { $0.rounds += 1 }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}

@Test("the WAL stays bounded while history is read in pages and fixes are written without a pause")
func logStaysBounded() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 20_000, destinations: .main))
    _ = try workshop.insert(1...3000)
    let reader = HistoryReader()
    try reader.start(workshop.directory.path)
    var largest = 0
    var second = 3000.0
    // A row is about two pages of WAL: more of them than make a checkpoint due, and until enough has been read meanwhile.
    let isDone = try wait(upTo: 120) {
        second += 1
        try workshop.insert(second)
        largest = max(largest, (try? SystemFiles().size(workshop.directory.file("beekon.db-wal"))) ?? 0)
        return second >= 6000 && reader.rounds >= 3
    }
    #expect(isDone)
    #expect(reader.stop() == nil)
    print("WAL while history is read: \(largest / 1024) KiB at most, \(reader.rounds) times \(second) rows")
    // Due at 1,000 pages of 2 KB, waited for at 4,000: 8 MB.
    #expect(largest < 12 << 20)
}
