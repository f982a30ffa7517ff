internal import Base
internal import GPSD

/// What gpsd has said and nobody has followed yet. A turn that has had its time leaves the rest, which goes first in the next one.
struct SourceBacklog {
    private var events: [Source.Event] = []
    private var followed = 0
    /// When it was read: fixes tell the time of then.
    let readAt: BootInstant

    init(_ events: [Source.Event] = [], readAt: BootInstant) {
        self.events = events
        self.readAt = readAt
    }

    var isEmpty: Bool { followed == events.count }

    /// Removes and returns the oldest.
    mutating func next() -> Source.Event? {
        guard !isEmpty else { return nil }
        followed += 1
        return events[followed - 1]
    }
}
