package import Base
package import Linux

/// What goes over the connection.
extension MQTTClient {
    /// The rest until `advance` can do more for the publication under way.
    package func rest(now: BootInstant) -> Rest {
        guard let job, job.deadline != nil, !hasMore else { return .none }
        var rest = link?.rest(hasOutput: connection?.output.isEmpty == false, now: now) ?? .none
        rest.end(by: connection?.due ?? job.deadline)
        return rest
    }

    /// Sends and reads what can be sent and read at once, and does what is due.
    mutating func exchange(now: BootInstant) -> MQTTOutcome? {
        // What the broker has said last explains more than that it does not listen.
        let isSending = flush(now: now)
        hasMore = true
        for _ in 0..<Self.readLimit where hasMore {
            switch link?.receive() {
            case .bytes(let bytes):
                let left = unacknowledgedBytes(descriptor)
                if let outcome = connection?.receive(bytes, unacknowledged: left, now: now) { return outcome }
                if connection?.isOver != false { return nil }
            case .nothing: hasMore = false
            case .closed(let message, let isHangUp):
                (hasMore, wasHungUp) = (false, isHangUp)
                return connection?.close(message)
            case nil: return nil
            }
        }
        if !isSending {
            wasHungUp = true
            return connection?.close("the connection has broken")
        }
        if let outcome = connection?.expire(now: now) { return outcome }
        // A failure will show when it is tried again.
        _ = flush(now: now)
        return nil
    }

    /// - Returns: false when the connection has broken.
    mutating func flush(now: BootInstant) -> Bool {
        guard let bytes = connection?.output.bytes, !bytes.isEmpty else { return true }
        guard let count = link?.send(bytes) else { return false }
        if count > 0 { connection?.wrote(count, now: now) }
        return true
    }
}
