internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking

/// The result of a command does not fit the method that has asked for it.
struct MismatchedCompletion: Error {
    var method: String
    var completion: Completion
}

// Calls that become commands.
extension Handlers {
    /// A call that may become a command.
    struct Request {
        let call: Call
        let caller: Caller
        let now: BootInstant
        let waiter: Dispatcher.Waiter
    }

    // MARK: Tracking

    func start(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.Start.self)
        return try give(.start, request, as: Wire.Start.self) { .init($0) }
    }

    func stop(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.Stop.self)
        return try give(.stop, request, as: Wire.Stop.self) { [hub] _ in
            .init(state: Wire.State(hub.board.readerSnapshot.state))
        }
    }

    func delete(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.DeleteLocations.self)
        try dispatcher.authorise(.delete, by: request.caller)
        let cutoff = try parameters.before.map(Timestamp.init(checking:))
        return try give(.delete(before: cutoff), request, as: Wire.DeleteLocations.self) { .init($0) }
    }

    func currentLocation(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.GetCurrentLocation.self)
        let wanted = try Command.FixRequest(
            timeout: parameters.timeoutSeconds, maxAge: parameters.maxAgeSeconds,
            accuracy: parameters.accuracyMeters)
        // Nobody would receive the result.
        if request.call.oneway { return .reply([]) }
        return try give(.locate(wanted), request, as: Wire.GetCurrentLocation.self) { .init($0) }
    }

    func setIgnition(_ request: Request) throws -> Answer {
        let isOn = try request.call.parameters(of: Wire.SetIgnition.self).on
        return try give(.setIgnition(isOn), request, as: Wire.SetIgnition.self) { .init($0) }
    }

    func setMotion(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.SetMotion.self)
        let wanted = try Command.SetMotion(checking: parameters.motion)
        return try give(.setMotion(wanted), request, as: Wire.SetMotion.self) { .init($0) }
    }

    func setOdometer(_ request: Request) throws -> Answer {
        let metres = try request.call.parameters(of: Wire.SetOdometer.self).odometerMeters
        try dispatcher.authorise(.setOdometer, by: request.caller)
        let wanted = try Command.Mileage(metres)
        return try give(.setOdometer(wanted), request, as: Wire.SetOdometer.self) { .init($0) }
    }

    // MARK: Upload

    func sync(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.Sync.self)
        let name = try parameters.destination.map(DestinationName.init(checking:))
        let (isAwaited, asksEach) = (
            parameters.wait ?? true && !request.call.oneway, parameters.all ?? false
        )
        if asksEach, name != nil { throw Failure(kind: .parameter("all")) }
        let command: Command =
            asksEach ? .syncEach(isAwaited: isAwaited) : .sync(name, isAwaited: isAwaited)
        return try give(command, request, as: Wire.Sync.self) { .init($0) }
    }

    func rebatch(_ request: Request) throws -> Answer {
        let name = try request.call.parameters(of: Wire.Rebatch.self).destination
        return try give(.rebatch(of: DestinationName(checking: name)), request, as: Wire.Rebatch.self) {
            .init($0)
        }
    }

    func resend(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.Resend.self)
        try dispatcher.authorise(.resend, by: request.caller)
        let work = Resend(
            for: try DestinationName(checking: parameters.destination),
            from: try Timestamp(checking: parameters.from),
            to: try parameters.to.map(Timestamp.init(checking:)))
        return try give(.resend(work), request, as: Wire.Resend.self) { $0.count.map { .init(requeued: $0) } }
    }

    func retryRejected(_ request: Request) throws -> Answer {
        let name = try request.call.parameters(of: Wire.RetryRejected.self).destination
        let command = Command.requeueRejected(of: try DestinationName(checking: name))
        return try give(command, request, as: Wire.RetryRejected.self) {
            $0.count.map { .init(requeued: $0) }
        }
    }

    func purgeRejected(_ request: Request) throws -> Answer {
        let name = try request.call.parameters(of: Wire.PurgeRejected.self).destination
        let command = Command.purgeRejected(of: try DestinationName(checking: name))
        return try give(command, request, as: Wire.PurgeRejected.self) {
            $0.count.map { .init(removed: $0) }
        }
    }

    func backfill(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.BackfillDestination.self)
        try dispatcher.authorise(.backfill, by: request.caller)
        let work = Backfill(
            of: try DestinationName(checking: parameters.destination),
            from: try parameters.from.map(Timestamp.init(checking:)))
        return try give(.backfill(work), request, as: Wire.BackfillDestination.self) {
            $0.count.map { .init(added: $0) }
        }
    }

    func forgetDestination(_ request: Request) throws -> Answer {
        let name = try request.call.parameters(of: Wire.ForgetDestination.self).destination
        try dispatcher.authorise(.forgetDestination, by: request.caller)
        let command = Command.forgetDestination(try DestinationName(checking: name))
        return try give(command, request, as: Wire.ForgetDestination.self) {
            $0.count.map { .init(removed: $0) }
        }
    }

    func seedAuth(_ request: Request) throws -> Answer {
        let parameters = try request.call.parameters(of: Wire.SeedAuth.self)
        try dispatcher.authorise(.seedAuth, by: request.caller)
        let seed = try Command.Seed(
            access: parameters.accessToken, refresh: parameters.refreshToken, expiresAt: parameters.expiresAt)
        let name = try DestinationName(checking: parameters.destination)
        return try give(.seedAuth(seed, of: name), request, as: Wire.SeedAuth.self) { .init($0) }
    }

    // MARK: Settings

    func setExtras(_ request: Request) throws -> Answer {
        let wanted = try request.call.parameters(of: Wire.SetExtras.self).extras
        let extras = try Command.Extras(wanted)
        return try give(.setExtras(extras), request, as: Wire.SetExtras.self) { .init($0) }
    }

    func configure(_ request: Request) throws -> Answer {
        let wanted = try request.call.parameters(of: Wire.Configure.self).settings
        let offers = wanted.mapValues { ProposedValue($0) }
        return try give(.configure(offers), request, as: Wire.Configure.self) { .init($0) }
    }

    func resetConfig(_ request: Request) throws -> Answer {
        let names = try request.call.parameters(of: Wire.ResetConfig.self).keys
        return try give(.resetConfig(names), request, as: Wire.ResetConfig.self) { .init($0) }
    }

    func resetServerConfig(_ request: Request) throws -> Answer {
        let names = try request.call.parameters(of: Wire.ResetServerConfig.self).keys
        return try give(.resetServerConfig(names), request, as: Wire.ResetServerConfig.self) { .init($0) }
    }

    func reload(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.Reload.self)
        return try give(.reload, request, as: Wire.Reload.self) { .init($0) }
    }

    // MARK: Geofences

    func addGeofences(_ request: Request) throws -> Answer {
        let wanted = try request.call.parameters(of: Wire.AddGeofences.self).geofences
        let fences = try wanted.map { try Geofence(checking: $0) }
        return try give(.addGeofences(fences), request, as: Wire.AddGeofences.self) { .init($0) }
    }

    func removeGeofences(_ request: Request) throws -> Answer {
        let ids = try request.call.parameters(of: Wire.RemoveGeofences.self).ids
        return try give(.removeGeofences(ids), request, as: Wire.RemoveGeofences.self) {
            $0.count.map { .init(removed: $0) }
        }
    }

    func listGeofences(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.ListGeofences.self)
        if request.call.more { return .geofences(request) }
        return try geofences(after: nil, limit: Geofences.limit, request, now: request.now)
    }

    /// - Parameter limit: fences in one reply.
    func geofences(
        after id: String?, limit: Int = Limits.fencePage, _ request: Request, now: BootInstant
    ) throws -> Answer {
        let command = Command.listGeofences(after: id, limit: limit)
        return try give(command, request, now: now) { completion in
            guard case .geofences(let page, let isLast) = completion else {
                throw MismatchedCompletion(method: Wire.ListGeofences.name, completion: completion)
            }
            let result = Wire.ListGeofences.Result(geofences: page.map { Wire.Geofence($0) })
            return try Reply.encode(Wire.ListGeofences.self, result, continues: !isLast)
        }
    }

    // MARK: To the dispatcher

    private func give<Method: ControlMethod>(
        _ command: Command, _ request: Request, as method: Method.Type,
        _ result: @escaping (Completion) -> Method.Result?
    ) throws -> Answer {
        try give(command, request, now: request.now) { completion in
            guard let result = result(completion) else {
                throw MismatchedCompletion(method: Method.name, completion: completion)
            }
            return try Reply.encode(method, result)
        }
    }

    private func give(
        _ command: Command, _ request: Request, now: BootInstant, _ encode: @escaping Encoder
    ) throws -> Answer {
        let answer = try dispatcher.dispatch(command, by: request.caller, now: now, waiter: request.waiter)
        switch answer {
        case .now(let completion): return .reply(try encode(completion))
        case .later(let token): return .later(token, request.call.oneway ? nil : encode)
        }
    }
}
