internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// Makes what goes out to one destination, in the format that it is configured with: each with an id of its own.
///
/// Confined to the uploader's thread.
final class ShipmentMaker {
    let installID: String
    private let clock: WallClock
    private(set) var requests: RequestMaker
    private var tellsOdometer: Bool
    private var ids: UUIDv7Generator

    init(
        installID: String, _ sync: Settings.Sync?, tellsOdometer: Bool, clock: WallClock, random: RandomSource
    ) {
        self.installID = installID
        self.clock = clock
        requests = RequestMaker(
            installID: installID, model: Machine.model(), version: Release.version, sync)
        self.tellsOdometer = tellsOdometer
        var random = random
        ids = UUIDv7Generator(using: &random)
    }

    /// Other settings, for what is made from now on.
    func configure(_ sync: Settings.Sync?, tellsOdometer: Bool) {
        requests.configure(sync)
        self.tellsOdometer = tellsOdometer
    }

    /// Gives back the buffers.
    func releaseMemory() {
        requests.reset()
    }

    /// The request for rows, as the store keeps it.
    func request(for draft: BatchDraft, now: BootInstant) throws(StorageError) -> (
        id: UUIDv7, request: StoredRequest
    ) {
        let sentAt = clock.time(now: now)
        // Servers keep ids by their time: one of a clock that nobody believes would be kept for years, or forgotten at once.
        let id = ids.next(at: clock.trusted(now: now) ?? draft.newestTime ?? sentAt)
        guard
            let request = requests.request(
                for: draft, batch: id, sentAt: sentAt, tellsOdometer: tellsOdometer)
        else { throw Self.unmade }
        return (id, request.stored)
    }

    /// The shipment with a location that is in no queue.
    func latest(_ draft: BatchDraft, at time: Timestamp, now: BootInstant) throws(StorageError) -> Shipment {
        let (id, stored) = try request(for: draft, now: now)
        guard let request = Request(stored) else { throw Self.unmade }
        return Shipment(
            content: .latest(FrozenBatch(unqueued: draft, id: id, stored)), id: id, request: request,
            position: time)
    }

    /// - Parameter position: the time of the position that is in it; nil: there is none.
    func envelope(
        _ content: RequestMaker.Rowless, position: Timestamp?, now: BootInstant
    ) throws(StorageError) -> Shipment {
        let sentAt = clock.time(now: now)
        let id = ids.next(at: sentAt)
        guard let request = requests.request(for: content, id: id, sentAt: sentAt) else { throw Self.unmade }
        return Shipment(content: .envelope, id: id, request: request, position: position)
    }

    /// - Parameter path: behind host and port of the destination.
    func log(_ lines: [UInt8], at path: String, now: BootInstant) throws(StorageError) -> Shipment {
        guard let request = LogRequest.request(lines, at: path) else { throw Self.unmade }
        return Shipment(content: .log, id: nextID(now: now), request: request)
    }

    /// An id of its own.
    func nextID(now: BootInstant) -> UUIDv7 { ids.next(at: clock.time(now: now)) }

    private static let unmade = StorageError(operation: "compress", kind: .other, message: "zlib failed")
}
