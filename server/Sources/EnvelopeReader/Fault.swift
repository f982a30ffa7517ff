/// What is wrong with an upload, and where.
package struct Fault: Error, Equatable, Sendable {
    /// What the sender can do about it.
    package enum Kind: Equatable, Sendable {
        /// The body is no envelope, and never becomes one.
        case malformed
        /// The body passes one of the limits.
        case tooLarge
    }

    package var kind: Kind
    /// A JSON pointer (RFC 6901) to the field, such as `/locations/3/latitude`; empty for the whole.
    package var pointer: String
    /// The location or event, from 0; nil when the fault is in none.
    package var index: Int?
    /// What is wrong there, as the end of a sentence that begins with the field.
    package var reason: String

    /// - Parameter pointer: empty for the whole.
    package init(_ kind: Kind = .malformed, pointer: String = "", index: Int? = nil, reason: String) {
        self.kind = kind
        self.pointer = pointer
        self.index = index
        self.reason = reason
    }
}
