package import Base

/// What geofences are made of, and what they report.
extension Geofences {
    /// Who has added a fence. Raw values are persisted.
    package enum Origin: String, CaseIterable, Sendable {
        case person
        /// In an answer to an upload. While a person's stop holds such a fence counts as none.
        case server
    }

    /// One fence as it is stored and listed.
    package struct Item: Equatable, Sendable {
        /// Never reused for another circle, so that stored state cannot be attributed to the wrong one.
        package var key: Int64
        /// The fence as defined by the user.
        package var fence: Geofence
        /// nil while undecided.
        package var isInside: Bool?
        /// When it was added; nil for one that was added before that was kept.
        package var addedAt: Timestamp?
        /// Who has added the fence; nil for one of an earlier version, which counts as a person's.
        package var origin: Origin?

        package init(
            key: Int64, fence: Geofence, isInside: Bool? = nil, addedAt: Timestamp? = nil,
            origin: Origin? = nil
        ) {
            self.key = key
            self.fence = fence
            self.isInside = isInside
            self.addedAt = addedAt
            self.origin = origin
        }
    }

    /// A change of a fence's state, to be stored.
    package struct Change: Equatable, Sendable {
        package var key: Int64
        package var isInside: Bool
        /// Fix time of the enter while inside; nil where it is not known, and once the stay has been recorded.
        package var enteredAt: Timestamp?

        /// Made by `judge`, or to store a state unchanged.
        package init(key: Int64, isInside: Bool, enteredAt: Timestamp? = nil) {
            self.key = key
            self.isInside = isInside
            self.enteredAt = enteredAt
        }
    }

    /// The first fence for which there is no room.
    package struct Excess: Equatable, Sendable {
        package var id: String
        /// A short explanation for the operator.
        package var reason: String
    }

    package struct Outcome: Equatable, Sendable {
        /// To be recorded, in chronological order for each fence.
        package var crossings: [Crossing] = []
        /// Stays to be recorded, in chronological order; after the crossings of this fix.
        package var stays: [Stay] = []
        /// To be stored in the same transaction as these.
        package var changes: [Change] = []

        package var isEmpty: Bool { crossings.isEmpty && changes.isEmpty }
    }

    /// The vehicle has been in a fence for as long as that asks.
    package struct Stay: Equatable, Sendable {
        /// The id of the fence.
        package var geofence: String
        package var entered: Timestamp
        /// How long the fence asked for.
        package var seconds: Double
        /// Time of the fix that showed it; later than it was due, if there was none then.
        package var time: Timestamp
    }
}
