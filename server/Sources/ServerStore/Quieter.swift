internal import Synchronization

/// Passes errors on, and of one that comes again and again only one a minute: who is told that a file has gone need not be told
/// with each upload. That a database server does not answer is told once, whoever meets it with which words, and its end.
final class Quieter: Sendable {
    fileprivate struct State {
        var last: (error: StoreError, time: ContinuousClock.Instant)?
        /// Since when the server does not answer; nil: it does.
        var outage: ContinuousClock.Instant?
        /// When an outage was told last.
        var outageTold: ContinuousClock.Instant?
        /// This one was told.
        var isTold = false
    }

    private let pass: @Sendable (StoreError) -> Void
    /// What is no error, or none of somebody's work.
    let note: @Sendable (String) -> Void
    private let state = Mutex(State())

    fileprivate static let pause = Duration.seconds(60)
    /// Between two outages that are told; a server that comes and goes is not worth more lines.
    fileprivate static let least = Duration.seconds(10)

    init(
        _ pass: @escaping @Sendable (StoreError) -> Void,
        note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.pass = pass
        self.note = note
    }

    func report(_ error: StoreError, at now: ContinuousClock.Instant = .now) {
        let isKnown = state.withLock { state in
            guard !error.isOutage else { return !state.begin(at: now) }
            if let last = state.last, last.error == error, now - last.time < Self.pause { return true }
            state.last = (error, now)
            return false
        }
        if !isKnown { pass(error) }
    }

    /// The database server answers.
    ///
    /// - Parameter isNews: it is worth a line, even if nobody was told that it did not answer.
    func answers(_ text: String, isNews: Bool, at now: ContinuousClock.Instant = .now) {
        let line = state.withLock { state -> String? in
            defer { (state.outage, state.isTold) = (nil, false) }
            guard let outage = state.outage, state.isTold else { return isNews ? text : nil }
            return "\(text), after \((now - outage).components.seconds) s"
        }
        if let line { note(line) }
    }
}

extension Quieter.State {
    /// - Returns: whether it is to be told.
    fileprivate mutating func begin(at now: ContinuousClock.Instant) -> Bool {
        outage = outage ?? now
        if let outageTold, now - outageTold < (isTold ? Quieter.pause : Quieter.least) { return false }
        (outageTold, isTold) = (now, true)
        return true
    }
}
