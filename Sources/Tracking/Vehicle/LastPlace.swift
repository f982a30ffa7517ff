package import Base

/// Where the vehicle stands once its ignition is off: which location that is, so that it is uploaded by itself. What was
/// pending at the edge went out at once, without it. Pure: boot time is an argument.
package struct LastPlace: Sendable {
    /// Seconds from the edge; a fix that comes later may be of a vehicle that has been moved.
    package static let patience = 10.0

    /// How long to wait for the first settled fix after the edge; nil: none is waited for.
    private var deadline: BootInstant?
    /// The location that has been admitted, and is not stored yet.
    private var expected: UUIDv7?

    package init() {}

    /// The ignition has been switched off. Not to be called while nothing is tracked: then no fix is stored.
    package mutating func expect(now: BootInstant) {
        deadline = now.advanced(bySeconds: Self.patience)
        expected = nil
    }

    /// The next settled fix has been decided on.
    ///
    /// - Parameter id: of the location that it has become; nil: nothing is tracked any more.
    package mutating func decided(_ id: UUIDv7?, now: BootInstant) {
        guard let deadline else { return }
        self.deadline = nil
        if now <= deadline { expected = id }
    }

    /// Locations have been stored.
    ///
    /// - Returns: whether it is among them: then it is to be uploaded, once.
    package mutating func isAmong(stored ids: some Sequence<UUIDv7>) -> Bool {
        guard let expected, ids.contains(expected) else { return false }
        self.expected = nil
        return true
    }
}
