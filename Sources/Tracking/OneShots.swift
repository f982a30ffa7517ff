package import Base

/// Clients that wait for a single fix. Pure: boot time is an argument.
///
/// These requests have no side effects: their fixes are neither stored nor streamed, and do not reset the gate.
package struct OneShots: Sendable {
    package struct Request: Equatable, Sendable {
        /// Identifies the client.
        package var id: Int
        /// Seconds to wait for a fix.
        package var timeout: Double
        /// Seconds; a fix received at most this long ago is acceptable. 0: a new fix only.
        package var maxAge: Double
        /// Metres; only a fix at least this accurate is acceptable. nil accepts any.
        package var accuracy: Double?
        /// The client is the server, which a person can keep from knowing.
        package var isServers: Bool

        /// By default only a new fix counts, of any accuracy.
        package init(
            id: Int, timeout: Double, maxAge: Double = 0, accuracy: Double? = nil, isServers: Bool = false
        ) {
            self.id = id
            self.timeout = timeout
            self.maxAge = maxAge
            self.accuracy = accuracy
            self.isServers = isServers
        }
    }

    /// Seconds; used when the client does not specify a timeout.
    package static let usualTimeout = 15.0
    /// Seconds.
    package static let timeoutRange = 0.0...3600.0
    /// Seconds; up to a year.
    package static let maxAgeRange = 0.0...31_536_000.0

    private var waiting: [(request: Request, deadline: BootInstant)] = []
    /// The latest settled fix, and what became of it.
    private var latest: (observed: Admission.Observation, received: BootInstant)?

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }
    /// When the next request times out.
    package var deadline: BootInstant? { waiting.map(\.deadline).min() }

    /// The latest fix, if it is recent and accurate enough for the request.
    package func cachedFix(for request: Request, now: BootInstant) -> Admission.Observation? {
        guard let latest, request.maxAge > 0, now.seconds(since: latest.received) <= request.maxAge,
            request.accepts(latest.observed.fix)
        else { return nil }
        return latest.observed
    }

    /// Queues the request until a suitable fix arrives.
    package mutating func add(_ request: Request, now: BootInstant) {
        waiting.append((request, now.advanced(bySeconds: request.timeout)))
    }

    /// Processes the next settled fix.
    ///
    /// - Returns: the clients whose requests it satisfies; these requests are removed.
    package mutating func offer(_ observed: Admission.Observation, now: BootInstant) -> [Int] {
        latest = (observed, now)
        return end { $0.request.accepts(observed.fix) }
    }

    /// Discards the latest fix if its time is not after the cutoff. nil: discards it in any case.
    package mutating func forgetLatest(upTo cutoff: Timestamp?) {
        guard let time = latest?.observed.fix.time, cutoff.map({ time <= $0 }) ?? true else { return }
        latest = nil
    }

    /// - Returns: the clients whose requests have timed out; these requests are removed.
    package mutating func expire(now: BootInstant) -> [Int] {
        end { $0.deadline <= now }
    }

    /// Removes all requests, because no fix can arrive.
    ///
    /// - Returns: all clients that were waiting.
    package mutating func cancelAll() -> [Int] {
        end { _ in true }
    }

    /// Removes the requests of the server.
    ///
    /// - Returns: those that were waiting.
    package mutating func cancelServers() -> [Int] {
        end { $0.request.isServers }
    }

    /// Removes the requests of a client that has disconnected.
    package mutating func cancel(_ id: Int) {
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
    func accepts(_ fix: Fix) -> Bool {
        guard let accuracy else { return true }
        return fix.accuracy.map { $0 <= accuracy } ?? false
    }
}
