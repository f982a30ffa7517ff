internal import SQLite
internal import Synchronization

/// Looks through a database that was left open, by a crash or a power cut, while it is in use: a disk that lied, or a copy that was
/// put beside the log of another, show only where somebody looks.
struct IntegrityCheck: Sendable {
    let file: DatabaseFile
    /// Who waits there goes first.
    let writes: Monitor<WorkQueue>
    let report: @Sendable (StoreError) -> Void
    let meter: Meter

    /// Steps of SQLite's virtual machine between two checks whether somebody waits; they take milliseconds.
    private static let steps: Int32 = 10_000

    /// What was found.
    final class Meter: Sendable {
        private let state = Mutex(Store.Checks())

        var checks: Store.Checks { state.withLock { $0 } }

        func note(isSound: Bool) {
            state.withLock { checks in
                if isSound { checks.sound += 1 } else { checks.damaged += 1 }
            }
        }
    }

    func run() {
        guard let damage = look() else { return }
        meter.note(isSound: damage.isEmpty)
        guard !damage.isEmpty else { return file.noteSound() }
        file.note(damage: damage)
        report(
            StoreError(
                .failed, operation: "look through it after it was left open",
                message: "\(file.path) is damaged: \(damage). Restore a backup: beekon-server restore FILE"))
    }

    /// - Returns: what is damaged, empty when nothing is; nil when it could not be seen.
    private func look() -> String? {
        do throws(StoreError) {
            let session = try file.session(isReader: true)
            let writes = writes
            session.connection.goOn(every: Self.steps) {
                writes.wait { $0.isClosed ? false : $0.isWaitedFor ? nil : true }
            }
            do throws(SQLiteError) {
                // Not quick_check: SQLite before 3.41 takes sound tables WITHOUT ROWID for damaged.
                let found = try session.connection.value("PRAGMA integrity_check(1)") ?? "no answer"
                return found == "ok" ? "" : found
            } catch {
                // SQLITE_CORRUPT and SQLITE_NOTADB. Else the server is ending, or the disk fails: others tell of that.
                return [11, 26].contains(error.code.primary.rawValue) ? error.message : nil
            }
        } catch {
            report(error)
            return nil
        }
    }
}
