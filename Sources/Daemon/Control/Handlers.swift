internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking

/// Answers the calls of the control interface, by the table of its methods (`Methods`), and has what these need: what only
/// asks is answered at once from snapshots and history, everything else becomes a command.
final class Handlers {
    /// Encodes the reply from the result of a command.
    typealias Encoder = (Completion) throws -> [UInt8]

    /// A call of somebody who may make it.
    struct Request {
        let call: Call
        let caller: Caller
        let now: BootInstant
        let waiter: Dispatcher.Waiter
    }

    enum Answer {
        case reply([UInt8])
        /// Once the command is completed; without an encoder the caller wants no reply.
        case later(Token, Encoder?)
        case pages(HistoryPages)
        /// Geofences page by page, requested from the reader.
        case geofences(Request)
        case subscription(ClientConnection.Subscription)
    }

    /// The result of a command does not fit the method that has asked for it.
    private struct MismatchedCompletion: Error {
        var method: String
        var completion: Completion
    }

    /// The group that may say where data goes and may delete it.
    private static let adminGroup = "beekon-admin"

    let hub: Hub
    let configurator: Configurator
    let dispatcher: Dispatcher
    let status: StatusReport
    private let adminGroupID = groupID(named: adminGroup)

    init(hub: Hub, configurator: Configurator, dispatcher: Dispatcher, status: StatusReport) {
        self.hub = hub
        self.configurator = configurator
        self.dispatcher = dispatcher
        self.status = status
    }

    /// A caller without the right to a method is refused before its parameters are looked at, and does not learn what else
    /// is wrong.
    ///
    /// - Parameter waiter: is given the result of a command that is answered later.
    /// - Throws: a `ControlError` or a `CommandFailure` for the client.
    func handle(
        _ call: Call, peer: Peer, now: BootInstant, waiter: @escaping Dispatcher.Waiter
    ) throws -> Answer {
        // After an answer that the caller took for consent, its bytes would be taken for calls.
        if call.upgrade { throw ControlError.invalidParameter("upgrade") }
        guard let method = Methods.named(call.method) else { throw InterfaceDescription.refusal(of: call) }
        let caller = caller(of: method, call, peer)
        try dispatcher.enforce(Authority.decide(method.audience, for: caller.origin), on: caller)
        return try method.action(self, Request(call: call, caller: caller, now: now, waiter: waiter))
    }

    private func caller(of method: Method, _ call: Call, _ peer: Peer) -> Caller {
        let origin = Command.Origin(
            uid: peer.uid, groups: peer.groups, daemonUser: ownUID(), adminGroup: adminGroupID)
        return Caller(
            origin: origin, request: call.member, name: peer.description,
            fields: [(.method, call.method), (.uid, "\(peer.uid)"), (.pid, "\(peer.pid)")],
            isLogged: !method.isQuestion)
    }

    // MARK: For the methods

    /// History reads come from the read-only connection, which is opened for each and closed after it: so none of them
    /// holds on to a database that has been moved aside meanwhile.
    func openHistory() throws -> History {
        do {
            return try History(directory: status.directory.path, on: status.directory.files)
        } catch {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func read<Result>(
        _ body: (borrowing History) throws(StorageError) -> Result
    ) throws -> Result {
        let history = try openHistory()
        do {
            return try body(history)
        } catch {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    /// - Parameter result: nil: that is no outcome of this command.
    func give<M: ControlMethod>(
        _ command: Command, _ request: Request, as method: M.Type,
        _ result: @escaping (Completion) -> M.Result?
    ) throws -> Answer {
        try give(command, request, now: request.now) { completion in
            guard let result = result(completion) else {
                throw MismatchedCompletion(method: M.name, completion: completion)
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
}
