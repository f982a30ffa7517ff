internal import Synchronization

/// A bounded queue from any thread to one, which sleeps in poll(2) on its wake-up.
public final class Mailbox<Message: Sendable>: Sendable {
    /// Signalled with each message; who takes them waits for it.
    public let wakeup: Wakeup
    private let limit: Int
    private let messages = Mutex<[Message]>([])

    /// A mailbox that refuses messages beyond the limit.
    public init(limit: Int) throws(SystemError) {
        self.limit = limit
        wakeup = try Wakeup()
    }

    /// - Returns: false when the mailbox is full; the message is dropped then.
    public func post(_ message: Message) -> Bool {
        let isTaken = messages.withLock { messages in
            guard messages.count < limit else { return false }
            messages.append(message)
            return true
        }
        wakeup.signal()
        return isTaken
    }

    /// Nothing waits.
    public var isEmpty: Bool {
        messages.withLock { $0.isEmpty }
    }

    /// Takes everything, oldest first.
    public func takeAll() -> [Message] {
        wakeup.clear()
        return messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}
