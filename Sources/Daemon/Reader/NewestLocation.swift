internal import Base
internal import Tracking
internal import Upload

/// The newest location that has been stored since the start, for destinations that only ask where the vehicle is now.
struct NewestLocation: Sendable {
    /// How many have been stored, this one included.
    var number: LatestLane.Number
    var location: Location
    var session: UUIDv7
    /// A JSON object; nil when there are none.
    var extras: String?
}
