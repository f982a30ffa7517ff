internal import Synchronization

/// A bounded queue from any thread to one, which sleeps in poll(2) on its wake-up.
public final class Mailbox<Message: Sendable>: Sendable {
    /// Signalled with each message; who takes them waits for it.
    public let wakeup: Wakeup
    private let limit: Int
    /// Apart from them, because the reader asks for every fix whether there are any.
    private let count = Atomic(0)
    private let messages = Mutex<[Message]>([])

    /// A mailbox that refuses messages beyond the limit.
    public init(limit: Int) throws(SystemError) {
        self.limit = limit
        wakeup = try Wakeup()
    }

    /// For what whoever posts can do without, or can refuse to somebody.
    ///
    /// - Returns: false when the mailbox is full; the message is dropped then.
    public func post(_ message: Message) -> Bool {
        let isTaken = messages.withLock { messages in
            guard messages.count < limit else { return false }
            messages.append(message)
            count.store(messages.count, ordering: .relaxed)
            return true
        }
        wakeup.signal()
        return isTaken
    }

    /// For what must not be lost: taken also by a mailbox that is full. Its sender bounds how many there can be.
    ///
    /// - Parameter merge: adds it to messages that wait already, and tells that nothing more is to be done.
    public func deliver(_ message: Message, merge: (inout [Message]) -> Bool = { _ in false }) {
        messages.withLock { messages in
            if !merge(&messages) { messages.append(message) }
            count.store(messages.count, ordering: .relaxed)
        }
        wakeup.signal()
    }

    /// Nothing waits.
    public var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Takes everything, oldest first.
    public func takeAll() -> [Message] {
        wakeup.clear()
        return messages.withLock { messages in
            defer { messages = [] }
            count.store(0, ordering: .relaxed)
            return messages
        }
    }
}
