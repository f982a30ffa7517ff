internal import Glibc
package import ServerStore

/// What became of a parcel.
package enum ForwardOutcome: Equatable, Sendable {
    /// The target has it, and says so.
    case accepted
    /// The target takes others, and not this one.
    case refused(String)
    /// The target takes nothing at this time.
    case failed(String)
    /// Not tried, or the server ends.
    case open
}

/// Sends parcels to one target.
package protocol Sender: Sendable {
    /// - Returns: an outcome for each; none when it has ended.
    func send(_ parcels: [Outbox.Parcel]) async -> [ForwardOutcome]

    /// Sends nothing more, and does not wait for what is under way.
    func end()
}

/// A sender by a library that waits: it has a thread of its own.
///
/// Nobody waits for the end of the thread: a library may be connecting for minutes, and nothing is lost with it.
final class SenderThread: Sender {
    private struct State {
        var parcels: [Outbox.Parcel]?
        var reply: CheckedContinuation<[ForwardOutcome], Never>?
        var isEnded = false
    }

    private enum Next {
        case parcels([Outbox.Parcel])
        case end
    }

    /// What the thread works with, and alone touches.
    protocol Link {
        /// - Parameter isEnded: whether it is to give up.
        mutating func send(_ parcels: [Outbox.Parcel], isEnded: () -> Bool) -> [ForwardOutcome]
        mutating func close()
    }

    private let state = Monitor(State())
    private let thread: WorkerThread

    init(_ make: @escaping @Sendable () -> any Link) {
        let state = state
        thread = WorkerThread {
            var link = make()
            while true {
                let next: Next = state.wait { state in
                    if state.isEnded { return .end }
                    defer { state.parcels = nil }
                    return state.parcels.map { Next.parcels($0) }
                }
                guard case .parcels(let parcels) = next else { break }
                let outcomes = link.send(parcels) { state.look { $0.isEnded } }
                let reply = state.change { state in
                    defer { state.reply = nil }
                    return state.reply
                }
                reply?.resume(returning: outcomes)
            }
            link.close()
        }
    }

    func send(_ parcels: [Outbox.Parcel]) async -> [ForwardOutcome] {
        await withCheckedContinuation { continuation in
            let isTaken = state.change { state in
                guard !state.isEnded else { return false }
                (state.parcels, state.reply) = (parcels, continuation)
                return true
            }
            if !isTaken { continuation.resume(returning: []) }
        }
    }

    func end() {
        let reply = state.change { state in
            state.isEnded = true
            defer { state.reply = nil }
            return state.reply
        }
        reply?.resume(returning: [])
    }
}

package enum Senders {
    /// - Parameter userAgent: how it calls itself.
    package static func make(_ target: ForwardTarget, userAgent: String) -> any Sender {
        // Libraries write to sockets that the other side has closed.
        signal(SIGPIPE, SIG_IGN)
        return switch target.kind {
        case .web: WebSender(target, userAgent: userAgent)
        case .nats(let subject): SenderThread { NATSLink(target, subject: subject, name: userAgent) }
        case .mqtt(let topic): SenderThread { MQTTLink(target, topic: topic) }
        }
    }
}
