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
final class LatestQueue {
    private let port: UploaderPort
    private let hub: Hub
    /// Makes the requests, in whatever format is configured.
    private let maker: BatchQueue
    private let report: UploadReport
    private var lane = LatestLane()
    /// What is under way.
    private(set) var current: FrozenBatch?
    /// What goes out for it.
    private(set) var request: Request?
    /// The time of the fix in it.
    private var time: Timestamp?

    init(port: UploaderPort, hub: Hub, maker: BatchQueue, report: UploadReport) {
        self.port = port
        self.hub = hub
        self.maker = maker
        self.report = report
    }

    /// A location is stored that the server does not have.
    var hasNews: Bool { lane.isNews(hub.board.newest?.number) }

    /// From now on the reader wakes this thread when it stores a location. To be called before `hasNews` is asked for the last
    /// time.
    func awaitNews() {
        port.awaitsLocation.store(true, ordering: .sequentiallyConsistent)
    }

    /// Whether a location that the user has deleted is under way.
    ///
    /// - Parameter cutoff: what is deleted; nil: everything.
    func holds(upTo cutoff: Timestamp?) -> Bool {
        guard let time else { return false }
        return cutoff.map { time <= $0 } ?? true
    }

    /// The drain has ended.
    func end() {
        (current, request, time) = (nil, nil, nil)
    }

    /// Does what for other destinations the store has a part in.
    ///
    /// - Returns: nil for what is the same for all, and for a batch that was queued before `deliver` was changed.
    func perform(_ action: Drain.Action, now: BootInstant) throws(StorageError) -> Drain.Event? {
        switch action {
        case .registerEndpoint:
            lane.begin()
            return .done
        case .freezeNext: return try takeNewest(now: now)
        case .record(let judgement):
            guard let current else { return nil }
            report.recorded(judgement, of: current, now: now)
            return .done
        case .countTimeout, .markPermanent, .weighRefusal: return current == nil ? nil : .done
        case .acknowledge:
            guard let current else { return nil }
            lane.delivered()
            end()
            report.acknowledged(current, at: hub.clock.time(now: now))
            return .done
        // A location that is refused is not worth keeping, and says that something is wrong with the destination.
        case .reject, .isolate: return current == nil ? nil : .suspected
        case .checkToken, .checkRefusedToken, .refreshToken, .awaitToken, .send, .awaitAnswer, .cancelRequest,
            .freezeProbe, .condemn, .makePostscript, .settle:
            return nil
        }
    }

    /// What is under way is made anew, of the newest location by now.
    ///
    /// - Returns: false when there is none any more.
    func renew(now: BootInstant) throws(StorageError) -> Bool {
        if current != nil { _ = try takeNewest(now: now) }
        return current != nil
    }

    private func takeNewest(now: BootInstant) throws(StorageError) -> Drain.Event {
        end()
        let newest = hub.board.newest
        guard lane.takes(newest?.number), let newest else { return .nothingPending }
        let draft = BatchDraft(
            unqueued: newest.location, session: newest.session, extras: newest.extras, for: port.name)
        let (id, stored) = try maker.encode(draft, now: now)
        request = Request(stored)
        current = FrozenBatch(unqueued: draft, id: id, stored)
        time = newest.location.fix.time
        return .frozen(rows: 1, isIsolating: false)
    }
}
