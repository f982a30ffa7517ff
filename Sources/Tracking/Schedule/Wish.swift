package import Base

/// Whether to track, and who said so: the newest of person, server, schedule and ignition decides. Persisted. Pure.
///
/// A person's stop is more than the others': while it holds the server may neither start nor find out where the vehicle
/// is. It holds until a person starts, or the schedule opens, or the ignition is switched on. A stop by anyone else
/// meanwhile changes nothing, so that nobody takes the hold away by stopping once more.
package struct Wish: Equatable, Sendable {
    /// Raw values are persisted.
    package enum Origin: String, CaseIterable, Sendable {
        case person, server, schedule, ignition
    }

    /// What becomes of a new wish.
    package enum Verdict: Equatable, Sendable {
        /// The new wish replaces the present one.
        case taken
        /// The present one stays, which asks for the same or is newer.
        case kept
        /// A person has stopped tracking, and only a person, the schedule or the ignition may start it again.
        case refused
    }

    /// What the server may ask for that shows where a vehicle is.
    package enum ServerRequest: CaseIterable, Sendable {
        case start, locate, addGeofences, setSchedule
        /// The rest: stop, sync, other settings, removing geofences.
        case harmless
    }

    package var tracks: Bool
    package var origin: Origin
    /// When it was made, of an edge of the schedule when that was; nil while the time is unknown. It matters only
    /// against edges of the schedule that passed while nobody looked.
    package var time: Timestamp?

    package init(tracks: Bool, origin: Origin, time: Timestamp?) {
        self.tracks = tracks
        self.origin = origin
        self.time = time
    }

    /// A person's stop, which holds against the server.
    package var isPersonsStop: Bool { origin == .person && !tracks }

    /// Whether the stop that it asks for is the system's rather than a user's: `stop_reason`.
    package var isSystems: Bool {
        switch origin {
        case .person, .server: false
        case .schedule, .ignition: true
        }
    }

    /// Whether a stop of the server that had come before it is over. Not for the schedule: an edge that is made up for may be
    /// older than that stop.
    package var supersedesServersStop: Bool {
        switch origin {
        case .person, .ignition: tracks
        case .server, .schedule: false
        }
    }

    /// Whether it replaces `present`, which was made before. Wishes come in the order in which they are made, but for
    /// edges of the schedule that are made up for.
    package func judge(after present: Wish?) -> Verdict {
        guard let present else { return .taken }
        if present.isPersonsStop {
            if origin == .server, tracks { return .refused }
            if origin != .person, !tracks { return .kept }
        }
        let isOlder = time.flatMap { time in present.time.map { time <= $0 } } ?? false
        if origin == .schedule, present.origin != .schedule, isOlder { return .kept }
        return .taken
    }

    /// Whether the server may ask for this while `present` holds.
    package static func allows(_ request: ServerRequest, while present: Wish?) -> Bool {
        switch request {
        case .start, .locate, .addGeofences, .setSchedule: present?.isPersonsStop != true
        case .harmless: true
        }
    }

    /// Records that the time is known now. A wish made without it, or by a clock that was ahead, counts as made now:
    /// edges that have passed do not overrule it.
    package mutating func settle(at now: Timestamp) {
        time = min(time ?? now, now)
    }
}
