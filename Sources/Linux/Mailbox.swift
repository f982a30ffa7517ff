internal import Synchronization

/// A bounded queue from any number of threads to one, which sleeps in poll(2) on its wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
    /// Signalled with each message; the receiving thread polls it.
    package let wakeup: Wakeup
    private let limit: Int
    /// Kept separately, because the reader checks for messages with every fix.
    private let count = Atomic(0)
    private let messages = Mutex<[Message]>([])

    /// - Parameter limit: number of messages beyond which new ones are refused.
    package init(limit: Int) throws(SystemError) {
        self.limit = limit
        wakeup = try Wakeup()
    }

    /// For messages that the sender can do without, or can refuse to its own caller.
    ///
    /// - Returns: false when the mailbox is full; the message is then dropped.
    package func post(_ message: Message) -> Bool {
        let isTaken = messages.withLock { messages in
            guard messages.count < limit else { return false }
            messages.append(message)
            count.store(messages.count, ordering: .relaxed)
            return true
        }
        wakeup.signal()
        return isTaken
    }

    /// For messages that must not be lost: even a full mailbox accepts them. The sender bounds their number.
    ///
    /// - Parameter merge: merges the message into those that are waiting; true when nothing remains to be added.
    package func deliver(_ message: Message, merge: (inout [Message]) -> Bool = { _ in false }) {
        messages.withLock { messages in
            if !merge(&messages) { messages.append(message) }
            count.store(messages.count, ordering: .relaxed)
        }
        wakeup.signal()
    }

    package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Removes and returns all messages, oldest first.
    package func takeAll() -> [Message] {
        wakeup.clear()
        return messages.withLock { messages in
            defer { messages = [] }
            count.store(0, ordering: .relaxed)
            return messages
        }
    }
}
