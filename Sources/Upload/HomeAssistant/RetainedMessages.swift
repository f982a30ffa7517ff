/// Which of the messages that a broker is to retain it has acknowledged over the present connection. Pure.
package struct RetainedMessages: Sendable {
    private var acknowledged: [String: [UInt8]] = [:]
    private var connection: Int?

    /// The broker has been told nothing.
    package init() {}

    /// Messages go over this connection: another one may lead to a broker that has forgotten all, and what the broker itself has
    /// said at the end of the one before is to be put right.
    ///
    /// - Parameter number: nil: there is none.
    /// - Returns: whether it is another one.
    package mutating func use(connection number: Int?) -> Bool {
        guard number != connection else { return false }
        connection = number
        acknowledged = [:]
        return true
    }

    /// The first of those that the broker is to have and has not acknowledged as they are; nil: it has all.
    package func next(of wanted: [MQTTMessage]) -> MQTTMessage? {
        wanted.first { acknowledged[$0.topic] != $0.payload }
    }

    /// The broker has acknowledged this one.
    package mutating func note(_ message: MQTTMessage) {
        acknowledged[message.topic] = message.payload
    }

    /// All is to be told again.
    package mutating func forget() {
        acknowledged = [:]
    }
}
