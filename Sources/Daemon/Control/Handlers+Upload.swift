internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Tracking

extension Handlers {
    // MARK: Dead letters

    func rejected(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetRejected.self)
        var cursor = History.RejectedCursor()
        if call.more { return .history(.rejected(cursor)) }
        let history = try openHistory()
        do {
            let rows = try history.next(&cursor, limit: History.pageLimit + 1)
            guard rows.count <= History.pageLimit else {
                throw ControlError.tooMany(limit: History.pageLimit)
            }
            return .reply(
                try Reply.encode(Wire.GetRejected.self, .init(rejected: rows.map { Wire.Rejected($0) })))
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func retryRejected(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.RetryRejected.self)
        log(call, peer)
        try takeAttempt()
        return try ask { .rejected(.requeue, $0) }
    }

    func purgeRejected(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.PurgeRejected.self)
        try requireAdmin(peer)
        log(call, peer)
        return try ask { .rejected(.purge, $0) }
    }

    // MARK: Sending again

    func resend(_ call: Call, _ peer: Peer) throws -> Answer {
        let parameters = try call.parameters(of: Wire.Resend.self)
        try requireAdmin(peer)
        guard let from = try time(parameters.from) else { throw ControlError.invalidParameter("from") }
        let work = Resend(from: from, to: try time(parameters.to))
        log(call, peer)
        try takeAttempt()
        return try ask { .resend(work, $0) }
    }

    func rebatch(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.Rebatch.self)
        try requireAdmin(peer)
        log(call, peer)
        let token = nextToken()
        try post(.rebatch(token))
        return .later(token)
    }

    // MARK: Extras

    func extras(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetExtras.self)
        return .reply(try Reply.encode(Wire.GetExtras.self, .init(extras: hub.board.extras)))
    }

    func setExtras(_ call: Call, _ peer: Peer) throws -> Answer {
        let extras = try call.parameters(of: Wire.SetExtras.self).extras
        if let (name, reason) = Settings.complaint(aboutExtras: extras) {
            throw ControlError.invalidConfiguration(key: "extras." + name, reason: reason)
        }
        log(call, peer)
        return try ask { .setExtras(extras, $0) }
    }
}

extension Wire.Rejected {
    init(_ row: RejectedRow) {
        self.init(
            location: row.location.map { Wire.Location($0) },
            geofenceEvent: row.event.map { Wire.GeofenceEvent($0) }, batchId: row.batch.description,
            httpStatus: row.httpStatus, rejectedAt: row.rejectedAt.iso8601)
    }
}
