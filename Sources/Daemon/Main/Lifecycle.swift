internal import Base

/// How far the threads are between start and end, and how long to wait for them. Pure.
struct Lifecycle {
    /// Seconds that the threads have to finish: SIGTERM to exit takes two at most, whatever hangs.
    private static let patience = 1.5

    /// Threads that have not ended.
    private(set) var running: Set<String>
    /// Threads that have not shown what they start with.
    private var silent: Set<String>
    /// When to end at the latest; nil until the end has begun.
    private(set) var stopBy: BootInstant?

    init(running: Set<String>) {
        self.running = running
        silent = running
    }

    /// Every thread that the daemon starts with has shown how it begins. Before that, clients would see an idle daemon.
    var isReady: Bool { silent.isEmpty }

    /// Another thread.
    ///
    /// - Parameter isAtStart: the daemon is not ready before it is.
    mutating func started(_ name: String, isAtStart: Bool) {
        running.insert(name)
        if isAtStart { silent.insert(name) }
    }

    /// A thread has published how it begins.
    mutating func published(_ name: String) {
        silent.remove(name)
    }

    /// - Returns: whether the end begins with this.
    mutating func stop(now: BootInstant) -> Bool {
        guard stopBy == nil else { return false }
        stopBy = now.advanced(bySeconds: Self.patience)
        return true
    }

    /// A thread that ends before it was asked to could not work at all; without it nothing else makes sense.
    ///
    /// - Returns: whether it had been asked to.
    mutating func ended(_ name: String) -> Bool {
        running.remove(name)
        return stopBy != nil
    }

    func isOver(now: BootInstant) -> Bool {
        running.isEmpty || stopBy.map { now >= $0 } ?? false
    }
}
