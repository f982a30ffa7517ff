package import Base

/// A server as beekon-server is: one queue in front of one writer, so many connections at once, more in the kernel's backlog.
/// Requests must come in the order of time.
package struct ServerModel: Sendable {
    /// What the server can do.
    package struct Capacity: Equatable, Sendable {
        /// Seconds of the writer for a request.
        package var request = 0.0003
        /// Seconds of the writer for each of its rows.
        package var row = 0.00001
        /// Connections at once, as beekon-server has them by default.
        package var connections = 600
        /// Connections that wait in the kernel.
        package var backlog = 4096
        /// Seconds that a request may wait for the writer once it is read; then it is answered with 503.
        package var patience = 10.0

        /// As measured on two cores.
        package init() {}

        /// The capacity with a writer that takes `factor` times as long.
        package func slowed(_ factor: Double) -> Capacity {
            var slow = self
            (slow.request, slow.row) = (request * factor, row * factor)
            return slow
        }

        /// Seconds of the writer.
        package func cost(rows: Int) -> Double { request + Double(rows) * row }
    }

    package enum Fate: Equatable, Sendable {
        /// When, and how.
        case answered(BootInstant, status: Int)
        /// Nobody listens.
        case refused
        /// There is no room for another connection: nothing comes back.
        case ignored
    }

    package var capacity: Capacity
    /// Nobody listens.
    package var isDown = false
    /// When each request that is inside, or in the backlog, will have been answered, in order.
    private var ends: [BootInstant] = []
    /// How many requests at the front of `ends` have been answered.
    private var first = 0
    private var isFreeAt = BootInstant(nanoseconds: 0)

    package init(_ capacity: Capacity) {
        self.capacity = capacity
    }

    /// A request comes.
    package mutating func take(rows: Int, at now: BootInstant) -> Fate {
        if isDown { return .refused }
        while first < ends.count, ends[first] <= now { first += 1 }
        if first > 4096, first * 2 > ends.count {
            ends.removeFirst(first)
            first = 0
        }
        let inside = ends.count - first
        guard inside < capacity.connections + capacity.backlog else { return .ignored }
        // It is read once there is a connection for it.
        let read = inside < capacity.connections ? now : ends[ends.count - capacity.connections]
        let start = max(read, isFreeAt)
        guard start.seconds(since: read) <= capacity.patience else {
            let end = read.advanced(bySeconds: capacity.patience)
            ends.append(max(end, ends.last ?? end))
            return .answered(end, status: 503)
        }
        isFreeAt = start.advanced(bySeconds: capacity.cost(rows: rows))
        ends.append(isFreeAt)
        return .answered(isFreeAt, status: 200)
    }

    /// The server goes down: what is inside is lost.
    package mutating func empty(at now: BootInstant) {
        (ends, first, isFreeAt) = ([], 0, now)
    }
}
