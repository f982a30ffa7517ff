internal import Glibc
internal import NIOCore

/// Sends connections away that get no place: with a 503 whose request nobody has read.
///
/// Each is closed a little later than it was answered. One that is closed with bytes unread, or still on their way, resets, and
/// the answer may be lost with it.
struct Farewell {
    private struct Leaving {
        let socket: Int32
        let since: ContinuousClock.Instant
    }

    /// Connections that linger at most, and for how long.
    private static let most = 512
    private static let linger = Duration.seconds(1)
    /// Bytes of a request that are thrown away at once.
    private static let glance = 1 << 20

    private var leaving = CircularBuffer<Leaving>()
    /// One for each moment to come again.
    private let answers: [[UInt8]] = Problem.busySeconds.map { Problem.busy(retryAfter: $0).text }

    var isEmpty: Bool { leaving.isEmpty }

    mutating func send(_ socket: Int32, now: ContinuousClock.Instant) {
        Self.discard(socket)
        if let answer = answers.randomElement() {
            _ = Glibc.send(socket, answer, answer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
        shutdown(socket, Int32(SHUT_WR))
        leaving.append(Leaving(socket: socket, since: now))
        if leaving.count > Self.most { end() }
    }

    /// Closes those that have had their time.
    mutating func sweep(now: ContinuousClock.Instant) {
        while let first = leaving.first, now - first.since >= Self.linger { end() }
    }

    mutating func endAll() {
        while !leaving.isEmpty { end() }
    }

    private mutating func end() {
        guard let first = leaving.popFirst() else { return }
        Self.discard(first.socket)
        close(first.socket)
    }

    private static func discard(_ socket: Int32) {
        // The kernel copies nothing.
        _ = recv(socket, nil, glance, Int32(MSG_DONTWAIT | MSG_TRUNC))
    }
}
