/// Those who wait for a single fix. Pure: boot time is an argument.
///
/// Nobody is disturbed by them: what they are given is neither stored nor streamed, and no gate hears of it.
public struct OneShots: Sendable {
    /// What is asked for.
    public struct Request: Equatable, Sendable {
        /// Names the one who asks.
        public var id: Int
        /// Seconds to wait.
        public var timeout: Double
        /// Seconds: a fix that was heard no longer ago will do.
        public var maxAge: Double
        /// Metres; only a fix that is as accurate will do. nil: any.
        public var accuracy: Double?

        /// All of it is chosen by the one who asks.
        public init(id: Int, timeout: Double, maxAge: Double = 0, accuracy: Double? = nil) {
            self.id = id
            self.timeout = timeout
            self.maxAge = maxAge
            self.accuracy = accuracy
        }
    }

    /// Seconds, when nobody says.
    public static let usualTimeout = 15.0
    /// Seconds.
    public static let timeoutRange = 0.0...3600.0
    /// Seconds; a year.
    public static let maxAgeRange = 0.0...31_536_000.0

    private var waiting: [(request: Request, deadline: BootInstant)] = []
    /// The latest settled fix, and what it meant.
    private var latest: (observed: Admission.Observation, heard: BootInstant)?

    /// Nobody waits.
    public init() {}

    /// Nobody waits.
    public var isEmpty: Bool { waiting.isEmpty }
    /// When the next one has waited long enough.
    public var deadline: BootInstant? { waiting.map(\.deadline).min() }

    /// The latest fix, when it is young and accurate enough for the request.
    public func known(for request: Request, now: BootInstant) -> Admission.Observation? {
        guard let latest, request.maxAge > 0, now.seconds(since: latest.heard) <= request.maxAge,
            request.takes(latest.observed.fix)
        else { return nil }
        return latest.observed
    }

    /// Waits for the next fix.
    public mutating func add(_ request: Request, now: BootInstant) {
        waiting.append((request, now.advanced(bySeconds: request.timeout)))
    }

    /// Takes the next settled fix.
    ///
    /// - Returns: those whom it satisfies; they wait no longer.
    public mutating func offer(_ observed: Admission.Observation, now: BootInstant) -> [Int] {
        latest = (observed, now)
        return end { $0.request.takes(observed.fix) }
    }

    /// The latest fix is not to be told any more, when it is of this time or before; nil: in any case.
    public mutating func forgetLatest(upTo cutoff: Timestamp?) {
        guard let time = latest?.observed.fix.time, cutoff.map({ time <= $0 }) ?? true else { return }
        latest = nil
    }

    /// - Returns: those who have waited long enough.
    public mutating func expire(now: BootInstant) -> [Int] {
        end { $0.deadline <= now }
    }

    /// No fix can come.
    ///
    /// - Returns: all who waited.
    public mutating func giveUp() -> [Int] {
        end { _ in true }
    }

    /// Who asked has gone.
    public mutating func forget(_ id: Int) {
        _ = end { $0.request.id == id }
    }

    private mutating func end(_ isMeant: ((request: Request, deadline: BootInstant)) -> Bool) -> [Int] {
        guard !waiting.isEmpty else { return [] }
        let ended = waiting.filter(isMeant).map(\.request.id)
        if !ended.isEmpty { waiting.removeAll { ended.contains($0.request.id) } }
        return ended
    }
}

extension OneShots.Request {
    func takes(_ fix: Fix) -> Bool {
        guard let accuracy else { return true }
        return fix.accuracy.map { $0 <= accuracy } ?? false
    }
}
