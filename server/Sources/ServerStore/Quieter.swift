internal import Synchronization

/// Passes errors on, and of one that comes again and again only one a minute: who is told that a file has gone need not be told
/// with each upload.
final class Quieter: Sendable {
    private let pass: @Sendable (StoreError) -> Void
    private let last = Mutex<(error: StoreError, time: ContinuousClock.Instant)?>(nil)

    private static let pause = Duration.seconds(60)

    init(_ pass: @escaping @Sendable (StoreError) -> Void) {
        self.pass = pass
    }

    func report(_ error: StoreError) {
        let now = ContinuousClock.now
        let isKnown = last.withLock { last in
            if let last, last.error == error, now - last.time < Self.pause { return true }
            last = (error, now)
            return false
        }
        if !isKnown { pass(error) }
    }
}
