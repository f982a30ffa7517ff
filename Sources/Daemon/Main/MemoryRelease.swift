internal import Base
internal import Linux

/// Gives memory back to the system once the work that needed it is over. A later piece of work puts it off.
struct MemoryRelease {
    /// Seconds after the start, or after new settings, when every thread has begun its work, and what only that needed can
    /// go.
    private static let settlingTime = 2.0

    /// nil: there is nothing to give back.
    private(set) var dueAt: BootInstant?

    mutating func schedule(now: BootInstant) {
        dueAt = now.advanced(bySeconds: Self.settlingTime)
    }

    mutating func runIfDue(now: BootInstant) {
        guard let due = dueAt, now >= due else { return }
        releaseUnusedMemory()
        dueAt = nil
    }
}
