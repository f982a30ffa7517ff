internal import Base
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// In place of a queue, for a destination of which `deliver` is `latest`: each attempt is a new request, made from memory of
/// the newest location that is stored. Nothing of it is frozen, kept for later or made a dead letter.
///
/// Confined to the uploader's thread.
final class LatestLocation {
    private let port: UploaderPort
    private let hub: Hub
    private let maker: ShipmentMaker
    private var lane = LatestLane()

    init(port: UploaderPort, hub: Hub, maker: ShipmentMaker) {
        self.port = port
        self.hub = hub
        self.maker = maker
    }

    /// A location is stored that the server does not have.
    var hasNews: Bool { lane.isNews(hub.board.newest?.number) }

    /// From now on the reader wakes this thread when it stores a location. To be called before `hasNews` is asked for the last
    /// time.
    func awaitNews() {
        port.awaitsLocation.store(true, ordering: .sequentiallyConsistent)
    }

    /// A drain begins.
    func begin() { lane.begin() }

    /// The shipment with the newest location there is now.
    ///
    /// - Returns: nil when the server has it, or there is none.
    func next(now: BootInstant) throws(StorageError) -> Shipment? {
        let newest = hub.board.newest
        guard lane.takes(newest?.number), let newest else { return nil }
        let draft = BatchDraft(
            unqueued: newest.location, session: newest.session, extras: newest.extras, for: port.name)
        return try maker.latest(draft, at: newest.location.fix.time, now: now)
    }

    /// The server has it.
    func delivered() { lane.delivered() }
}
