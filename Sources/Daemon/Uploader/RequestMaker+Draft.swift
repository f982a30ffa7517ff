internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Tracking
internal import Upload

extension RequestMaker {
    /// Whether the format can say what is in the draft: an event that was stored without its position, by an earlier version,
    /// is placed at the centre of its fence, but that may be gone.
    ///
    /// - Parameter fences: those that there are now.
    /// - Returns: the draft with that position; nil when it can not.
    func placed(_ draft: BatchDraft, among fences: () throws(StorageError) -> [Geofence]) throws(StorageError)
        -> BatchDraft?
    {
        guard needsPlaces, draft.locations.isEmpty, let event = draft.events.first, event.coordinate == nil
        else { return draft }
        let id = event.crossing.geofence
        return try fences().first { $0.id == id }.map { draft.placed(at: $0.centre) }
    }

    /// - Parameter tellsOdometer: to servers made for other clients, which have a field for it.
    /// - Returns: nil when zlib fails.
    mutating func request(
        for draft: BatchDraft, batch: UUIDv7, sentAt: Timestamp, tellsOdometer: Bool = true
    ) -> Request? {
        request(
            batch: batch, session: draft.session, sentAt: sentAt, extras: draft.extras,
            locations: draft.locations, events: draft.events, vehicleEvents: draft.vehicleEvents,
            tellsOdometer: tellsOdometer)
    }
}

extension Request {
    /// The request of a frozen batch; nil when it cannot be read back: the file is damaged, or a later version wrote it.
    init?(_ stored: StoredRequest) {
        guard let name = stored.format else {
            self = BeekonFormat.request(body: stored.body)
            return
        }
        self.init(format: name, head: stored.head, body: stored.body)
    }

    /// What is kept with the batch: of the format `beekon` nothing but the body.
    var stored: StoredRequest {
        StoredRequest(format: head == nil ? nil : format.rawValue, head: head, body: body)
    }
}
