/// What the store remembers and the reader has yet to read. If storage fails at the start, it is read as soon as storage
/// works, before anything else is written.
struct Recall {
    /// In the order in which they are read.
    enum Item: CaseIterable {
        /// A deletion that was interrupted: what it covers must not be shown again.
        case deletion
        /// The newest location: for clients, and for the clock, which cannot be earlier.
        case latest
        /// Which times have been trusted.
        case ages
        /// What was intended, which no file says: whether a session is open, has ended, or none was ever started.
        case intent
        /// The last admitted fix of the session, with which the gate compares.
        case tail
        /// The session of the events between two sessions.
        case eventSession
        /// Where the odometer stood, and the trip under way.
        case vehicle
    }

    private var missing: Set<Item> = []
    /// A failure to read has been noted, and nothing has been completed since.
    var isFailureNoted = false

    /// What is to be read next; nil when nothing is missing.
    var next: Item? {
        missing.isEmpty ? nil : Item.allCases.first { missing.contains($0) }
    }

    func isMissing(_ item: Item) -> Bool { missing.contains(item) }

    mutating func add(_ items: Item...) { missing.formUnion(items) }

    /// The item has been read, or is not wanted any more.
    mutating func remove(_ item: Item) { missing.remove(item) }
}
