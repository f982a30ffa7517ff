package import Base

/// What the store holds, for status.
package struct StoreCounts: Equatable, Sendable {
    /// All rows, uploaded ones that are kept included.
    package var locations = 0
    /// All events, of every kind.
    package var events = 0
    /// Events whose time is not known yet.
    package var untimedEvents = 0
    package var main = DestinationCounts()
    /// Empty while each row is owed to `main` alone.
    package var others: [DestinationName: DestinationCounts] = [:]
    /// Lost for good since this database was created.
    package var losses = Losses()
    /// What is left to do for the commands of servers; empty where there is nothing.
    package var commands: [DestinationName: CommandCounts] = [:]

    /// Locations and events that `main` has not acknowledged.
    package var pending: Int { main.pending }
    /// The time of the oldest of those; nil when there are none.
    package var oldestPending: Timestamp? { main.oldestPending }
    /// Dead letters of `main`.
    package var rejected: Int { main.rejected }

    /// Whether some destination has not acknowledged all.
    package var hasPending: Bool { main.pending > 0 || others.values.contains { $0.pending > 0 } }

    /// The counts of one destination; nil when nothing is owed to it, nor ever was.
    package subscript(_ name: DestinationName) -> DestinationCounts? {
        name == .main ? main : others[name]
    }
}

/// What is pending for one destination, and what it has lost or refused.
package struct DestinationCounts: Equatable, Sendable {
    /// Locations and events that it has not acknowledged.
    package var pending = 0
    /// The time of the oldest of those; nil when there are none.
    package var oldestPending: Timestamp?
    /// Dead letters.
    package var rejected = 0
    /// Rows of it that are gone without having arrived; counted only while others are owed rows as well.
    package var losses = Losses()
    /// The destination is not configured any more.
    package var isOrphaned = false

    /// Nothing is pending or rejected, and nothing was lost.
    package init() {}

    init(_ backlog: Backlog) {
        pending = backlog.pending
        oldestPending = backlog.oldest.map { Timestamp(milliseconds: $0.ts) }
        rejected = backlog.rejected
        losses = backlog.losses
        isOrphaned = backlog.isOrphaned
    }
}
