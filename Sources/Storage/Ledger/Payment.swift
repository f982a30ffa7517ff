/// The rows of a batch that its destination is not owed any more.
struct Payment: Equatable, Sendable {
    /// Locations of the batch that were still there.
    var locations = 0
    var events = 0
    /// Rows that no other destination is owed either, and that have been deleted.
    var settled = Count()
    /// Rows that have been marked instead of deleted.
    var kept = Count()
    /// What is left to pay.
    var owed: Backlog.Owed

    struct Count: Equatable, Sendable {
        var locations = 0
        var events = 0
    }

    /// Locations and events.
    var rows: Int { locations + events }
}
