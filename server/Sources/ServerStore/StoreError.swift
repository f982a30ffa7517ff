/// What kept the store from doing something.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What whoever asked can do.
    package enum Kind: Equatable, Sendable {
        /// There is more to do than can be done: later. Nothing has been changed.
        case overloaded
        /// The database does not answer, or its connection was lost at COMMIT: whether the change was made is not known, and
        /// asking again is safe.
        case unavailable
        /// The file of the database has gone: what is committed is lost.
        case gone
        /// There is no place for a row, which has to be made first: asking again is safe.
        case missing
        /// What was asked does not fit what is stored: a name that is taken.
        case conflict
        /// The database refuses, and would again.
        case failed
    }

    package var kind: Kind
    /// What was attempted: a statement, or "connect".
    package var operation: String
    /// What the database says.
    package var message: String
    /// The database itself cannot go on, its connection or its disk, whoever asks for what.
    var isOfAll: Bool
    /// The database server does not answer, or ended the connection: the store tells it, once, until it answers again.
    package var isOutage = false
    /// A sentence for whoever asks, without names of machines; nil: the usual one.
    package var summary: String?

    package init(_ kind: Kind, operation: String, message: String) {
        self.kind = kind
        self.operation = operation
        self.message = message
        isOfAll = kind == .unavailable || kind == .gone
    }

    package var description: String { "\(message) (in: \(operation))" }
}
