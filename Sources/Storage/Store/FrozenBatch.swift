package import Base
package import Tracking

/// Which of the pending rows the next batch carries; within it they ascend in any case.
package enum BatchOrder: Sendable {
    case oldest, newest
}

/// The rows that the next batch will carry, read but not yet frozen.
package struct BatchDraft: Sendable {
    /// The destination that the batch is for.
    package let destination: DestinationName
    /// All locations of a batch are of one session.
    package let session: UUIDv7
    /// A JSON object; nil when there are no extras.
    package let extras: String?
    /// Oldest first.
    package let locations: [Location]
    /// Oldest first.
    package private(set) var events: [GeofenceEvent]
    /// What else has happened, oldest first; there is something of one of the three.
    package private(set) var vehicleEvents: [VehicleEvent]
    private(set) var members: BatchMembers
    /// Numbers of the events that are the vehicle's.
    private(set) var vehicleMembers = SeqSet()

    init(
        destination: DestinationName, session: UUIDv7, extras: String?, locations: [Location],
        events: [GeofenceEvent], vehicleEvents: [VehicleEvent], members: BatchMembers,
        vehicleMembers: SeqSet = SeqSet()
    ) {
        self.destination = destination
        self.session = session
        self.extras = extras
        self.locations = locations
        self.events = events
        self.vehicleEvents = vehicleEvents
        self.members = members
        self.vehicleMembers = vehicleMembers
    }

    /// The draft with the events of the vehicle alone; nil when there are none.
    package var ofVehicle: BatchDraft? {
        guard !vehicleEvents.isEmpty else { return nil }
        var members = members
        (members.runs, members.events) = ([], vehicleMembers)
        return BatchDraft(
            destination: destination, session: session, extras: extras, locations: [], events: [],
            vehicleEvents: vehicleEvents, members: members, vehicleMembers: vehicleMembers)
    }

    /// The draft with the entries into geofences and the exits alone; nil when there are none.
    package var ofGeofences: BatchDraft? {
        guard !events.isEmpty else { return nil }
        var members = members
        members.runs = []
        members.events.subtract(vehicleMembers)
        return BatchDraft(
            destination: destination, session: session, extras: extras, locations: [], events: events,
            vehicleEvents: [], members: members)
    }

    /// The time of its newest row; nil when nobody knows one of them.
    package var newestTime: Timestamp? {
        var times = [locations.last?.fix.time, events.last?.crossing.time]
        for event in vehicleEvents {
            if case .known(let time, _) = event.time { times.append(time) }
        }
        return times.compactMap(\.self).max()
    }

    /// Events of every kind.
    package var eventCount: Int { events.count + vehicleEvents.count }

    /// The draft with a position, of accuracy 0, for events that have none.
    package func placed(at coordinate: Coordinate) -> BatchDraft {
        var draft = self
        for index in draft.events.indices where draft.events[index].coordinate == nil {
            (draft.events[index].coordinate, draft.events[index].accuracy) = (coordinate, 0)
        }
        return draft
    }
}

extension BatchDraft {
    /// One location that goes out from memory: it can make a request, and the store knows nothing of it.
    package init(
        unqueued location: Location, session: UUIDv7, extras: String?, for destination: DestinationName
    ) {
        // One row that no table has.
        let none = RowKey(ts: 0, seq: 0)
        self.init(
            destination: destination, session: session, extras: extras, locations: [location], events: [],
            vehicleEvents: [],
            members: BatchMembers(session: 0, extras: 0, runs: [RowRun(first: none, last: none)]))
    }
}

/// A batch whose bytes never change any more.
package struct FrozenBatch: Equatable, Sendable {
    /// The destination that the batch is for.
    package let destination: DestinationName
    /// The `batch_id`.
    package let id: UUIDv7
    /// All its locations are of one session.
    package let session: UUIDv7
    /// What goes out.
    package let request: StoredRequest
    /// A part of a rejected batch that is being searched for its poison rows.
    package let isPiece: Bool
    let key: Int64
    let members: BatchMembers

    /// How many locations it was frozen with.
    package var locations: Int { members.count }
    /// How many events it was frozen with.
    package var events: Int { members.events.count }
    /// Locations and events.
    package var rows: Int { locations + events }
}

extension FrozenBatch {
    /// The request of a draft that is not queued. Nothing may be asked of the store about it.
    package init(unqueued draft: BatchDraft, id: UUIDv7, _ request: StoredRequest) {
        self.init(
            destination: draft.destination, id: id, session: draft.session, request: request, isPiece: false,
            key: 0, members: draft.members)
    }
}

/// A request as it is kept: all but where it goes and what identifies the sender.
package struct StoredRequest: Equatable, Sendable {
    /// The name of the format that made it, and reads the answers to it; nil: `beekon`.
    package var format: String?
    /// What that format keeps besides the body; nil where the format decides everything else.
    package var head: [UInt8]?
    /// The bytes that are sent.
    package var body: [UInt8]

    package init(format: String? = nil, head: [UInt8]? = nil, body: [UInt8]) {
        self.format = format
        self.head = head
        self.body = body
    }
}

/// How rows were refused for good.
package struct Refusal: Equatable, Sendable {
    /// The HTTP status; 0: the connection was closed without an answer, time and again.
    package var status: Int
    /// What the server said, in a line without secrets; nil: nothing.
    package var reason: String?
    /// When that was.
    package var time: Timestamp

    package init(status: Int, reason: String? = nil, time: Timestamp) {
        self.status = status
        self.reason = reason
        self.time = time
    }
}

/// What became of a rejected batch.
package enum Rejection: Equatable, Sendable {
    /// The rows of the batch are dead letters now.
    case deadLettered(Int)
    /// The batch stays frozen and pending: the endpoint is suspected (three in a row).
    case suspected
    /// The batch stays frozen and pending, because there is no room among the dead letters. That says nothing
    /// about the endpoint: once there is room, it is rejected like any other.
    case full
}
