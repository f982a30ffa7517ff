import Base
import Storage
import Tracking

/// What the store should hold of events, which are members of at most one batch, and of geofences: the state of each.
struct CrossingLedger {
    private struct Event {
        /// The largest there is while the time is not known.
        var ts: Int64
        let id: UUIDv7
        var isUploaded = false
        /// Nobody was ever owed it.
        var isLocal = false
        /// Which it will be.
        var later: Int64 = 0
        var isMember = false
        /// When it became a dead letter; since the latest acknowledgement?
        var rejectedAt: Int64 = 0
        var isInStreak = false

        var line: String {
            Contents.event(
                ts: ts, id: id.hex, uploaded: isLocal ? 2 : isUploaded ? 1 : 0, isMember: isMember)
        }

        var isPending: Bool { !isUploaded && !isLocal && ts < .max }
    }

    private var events: [Event] = []
    private var rejected: [Event] = []
    private(set) var states: [Int64: Bool] = [:]

    var pending: Int { events.count(where: \.isPending) }

    var lines: [String] {
        events.sorted { ($0.ts, $0.id.hex) < ($1.ts, $1.id.hex) }.map(\.line)
            + rejected.map { Contents.rejectedEvent(id: $0.id.hex) }.sorted()
            + states.sorted { $0.key < $1.key }.map { Contents.state(key: $0.key, isInside: $0.value) }
    }

    mutating func insert(_ new: NewEvents) {
        events += new.events.map { Event(ts: $0.crossing.time.milliseconds, id: $0.id) }
        events += new.vehicleEvents.map { event in
            var (ts, later) = (Int64.max, Int64(0))
            switch event.time {
            case .known(let time, _): ts = time.milliseconds
            case .pending(_, let instant): later = Workload.booted + instant.nanoseconds / 1_000_000
            }
            return Event(ts: ts, id: event.id, isLocal: event.happening.kind != .ignition, later: later)
        }
        for change in new.changes { states[change.key] = change.isInside }
    }

    /// Gives the events their times.
    mutating func stamp() {
        for index in events.indices where events[index].ts == .max { events[index].ts = events[index].later }
    }

    mutating func freeze(_ members: [UUIDv7]) {
        for index in events.indices { events[index].isMember = members.contains(events[index].id) }
    }

    mutating func acknowledge(keeping: Bool) {
        if keeping {
            for index in events.indices where events[index].isMember { events[index].isUploaded = true }
        } else {
            events.removeAll(where: \.isMember)
        }
        for index in rejected.indices { rejected[index].isInStreak = false }
    }

    mutating func reject(at time: Int64) {
        rejected += events.filter(\.isMember).map { event in
            var event = event
            (event.rejectedAt, event.isInStreak) = (time, true)
            return event
        }
        events.removeAll(where: \.isMember)
    }

    /// Returns how many went.
    mutating func expire(before limit: Int64) -> Int {
        let before = rejected.count
        rejected.removeAll { $0.rejectedAt < limit && !$0.isInStreak }
        return before - rejected.count
    }

    mutating func putStreakBack() {
        events += rejected.filter(\.isInStreak).map { Event(ts: $0.ts, id: $0.id) }
        rejected.removeAll(where: \.isInStreak)
    }

    /// The oldest pending ones outside the batch go, at most sixteen. Returns how many went.
    mutating func age(before cutoff: Int64, besides members: [UUIDv7]) -> Int {
        let late = events.filter { $0.isPending && $0.ts < cutoff && !members.contains($0.id) }
        let gone = late.sorted { ($0.ts, $0.id.hex) < ($1.ts, $1.id.hex) }.prefix(16).map(\.id)
        events.removeAll { gone.contains($0.id) }
        return gone.count
    }

    func isFrozen(before limit: Int64) -> Bool {
        events.contains { $0.ts <= limit && $0.isMember }
    }

    mutating func delete(before limit: Int64) {
        events.removeAll { $0.ts <= limit }
        rejected.removeAll { $0.ts <= limit }
    }

    mutating func moveDeadLetters(isPurge: Bool) {
        if !isPurge { events += rejected.map { Event(ts: $0.ts, id: $0.id) } }
        rejected = []
    }

    /// Kept ones are pending again.
    mutating func resend() {
        for index in events.indices where !events[index].isLocal { events[index].isUploaded = false }
    }

    mutating func dissolve() {
        for index in events.indices { events[index].isMember = false }
    }
}
