package import Base

/// Which fix times are taken. A wrong one would otherwise make a partition of its own, in the year 1980 or 2107.
package enum TimeRule {
    /// 2000-01-01: no receiver was in a vehicle with beekond before.
    package static let earliest = Timestamp(milliseconds: 946_684_800_000)
    /// Seconds that a clock may be ahead of this server's.
    package static let ahead = 86_400.0

    private static func range(_ now: Timestamp) -> ClosedRange<Timestamp> {
        earliest...max(earliest, now.advanced(bySeconds: ahead))
    }

    /// Whether an id is of a time in which it can be remembered: a vehicle without a clock makes others.
    package static func isPlausible(_ id: UUIDv7, now: Timestamp) -> Bool { range(now).contains(id.time) }

    /// Whether a time of a row is more than a day ahead: with another clock it may be right.
    package static func isAhead(_ batch: Batch, now: Timestamp) -> Bool {
        let last = range(now).upperBound
        return batch.locations.contains { $0.time > last } || batch.events.contains { $0.time > last }
            || batch.remarks.events.contains { $0.time > last }
    }

    /// Whether a time of a row is before all others: no clock makes it right.
    package static func isPast(_ batch: Batch) -> Bool {
        fault(in: batch, now: Timestamp(milliseconds: .max)) != nil
    }

    /// - Parameter now: this server's clock.
    /// - Returns: nil when every time of the batch is taken.
    package static func fault(in batch: Batch, now: Timestamp) -> Fault? {
        let range = range(now)
        if let index = batch.locations.firstIndex(where: { !range.contains($0.time) }) {
            return Fault(
                pointer: "/locations/\(index)/timestamp", index: index,
                reason: "is a time " + word(batch.locations[index].time))
        }
        if let index = batch.events.firstIndex(where: { !range.contains($0.time) }) {
            return Fault(
                pointer: "/geofence_events/\(index)/timestamp", index: index,
                reason: "is a time " + word(batch.events[index].time))
        }
        if let index = batch.remarks.events.firstIndex(where: { !range.contains($0.time) }) {
            return Fault(
                pointer: "/events/\(index)/timestamp", index: index,
                reason: "is a time " + word(batch.remarks.events[index].time))
        }
        return nil
    }

    private static func word(_ time: Timestamp) -> String {
        time < earliest ? "before the year 2000" : "more than a day ahead of this server's clock"
    }
}

extension UUIDv7 {
    /// The time part of a UUID of version 7.
    package var time: Timestamp {
        withBytes {
            Timestamp(milliseconds: Int64(UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) >> 16))
        }
    }
}
