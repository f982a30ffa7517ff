internal import Base
internal import DaemonConfiguration
internal import Tracking
internal import Upload

// What the server of a destination asks for, in the answers to uploads. It gives commands like everybody else, with the
// rights of a member of the group of users, and only those that the configuration files name.

extension Dispatcher {
    /// Carries out a command of the server, or says why not. Doing so again changes nothing.
    ///
    /// - Parameters:
    ///   - command: `upload_log` is for the uploader, and unsupported here.
    ///   - destination: whose answer has brought it.
    ///   - batch: the batch that was answered; nil for a request without rows.
    ///   - waiter: is given the result, once, on this thread, perhaps before this returns.
    func serve(
        _ command: ServerCommand, of destination: DestinationName, batch: String?, now: BootInstant,
        _ waiter: @escaping (CommandResult) -> Void
    ) {
        let caller = Caller.server(command.name, id: command.id, of: destination, batch: batch)
        do throws(CommandError) {
            let given = try permitted(command, of: destination)
            serve(given, by: caller, now: now) { result, _ in
                waiter(CommandResult(command, result))
            }
        } catch {
            Log.warning(.control, "\(caller.request) refused to \(caller.name): \(error.text)", caller.fields)
            waiter(CommandResult(command, error))
        }
    }

    /// - Throws: when it cannot be given, or the configuration files do not allow it now, whatever they did when it came.
    private func permitted(
        _ command: ServerCommand, of destination: DestinationName
    ) throws(CommandError) -> Command {
        let request: ServerCommand.Request
        switch command.content {
        case .refused(let error): throw error
        case .request(let found): request = found
        }
        guard allowedToServer(of: destination).contains(request.name) else { throw CommandError(.notAllowed) }
        do throws(CommandFailure) {
            guard let command = try Command(request, of: destination) else {
                throw CommandFailure(kind: .denied)
            }
            return command
        } catch { throw CommandError(error) }
    }

    private func serve(
        _ command: Command, by caller: Caller, now: BootInstant, _ waiter: @escaping Waiter
    ) {
        do {
            switch try dispatch(command, by: caller, now: now, waiter: waiter) {
            case .now(let completion): waiter(.success(completion), now)
            case .later: break
            }
        } catch {
            waiter(.failure(error), now)
        }
    }
}

extension Caller {
    /// The server of a destination.
    ///
    /// - Parameters:
    ///   - request: in its words: `set_config`.
    ///   - id: what it calls this command.
    ///   - batch: whose answer has brought it; nil for a request without rows.
    static func server(
        _ request: String, id: String, of destination: DestinationName = .main, batch: String?
    ) -> Caller {
        Caller(
            origin: .server, request: request, name: "the server (\(id))",
            fields: [(.method, request), (.destination, destination.text)]
                + (batch.map { [(.batch, $0)] } ?? []),
            isLogged: true)
    }

    /// Whose wish to track, or to stop, this caller's is.
    var wishes: Wish.Origin { origin == .server ? .server : .person }
}

extension Command {
    /// Seconds. Nobody stands beside the vehicle and waits, and a receiver that sleeps takes longer than usual.
    private static let patienceOfServer = 60.0

    /// - Returns: nil for what is not given to the dispatcher.
    init?(_ request: ServerCommand.Request, of destination: DestinationName) throws(CommandFailure) {
        switch request {
        case .start: self = .start
        case .stop: self = .stop
        case .setConfig(let settings): self = .configure(settings.mapValues { .value($0) })
        case .unsetConfig(let names): self = .resetConfig(names)
        case .addGeofences(let fences): self = .addGeofences(fences)
        case .removeGeofences(let ids): self = .removeGeofences(ids)
        case .removeAllGeofences: self = .removeAllGeofences
        case .setMotion(let motion): self = .setMotion(try SetMotion(motion))
        // What is drained now is under way; this is for what comes after it, and nobody waits for its end.
        case .sync: self = .sync(destination, isAwaited: false)
        case .locate:
            self = .locate(try FixRequest(timeout: Self.patienceOfServer, maxAge: nil, accuracy: nil))
        case .uploadLog: return nil
        }
    }
}

extension CommandResult {
    init(_ command: ServerCommand, _ result: Result<Completion, CommandFailure>) {
        switch result {
        case .failure(let failure):
            let error = CommandError(failure)
            let isAboutSettings = [.setConfig, .unsetConfig].contains(command.request?.name)
            self.init(
                command,
                error.kind == .notAllowed && isAboutSettings ? CommandError(.settingNotAllowed) : error)
        case .success(.location(let location?)): self.init(command, location: location)
        case .success(.location(nil)):
            self.init(command, CommandError(.noLocation, "no fix came in time"))
        case .success(.configured(let overridden)): self.init(command, overridden: overridden)
        case .success(.done), .success(.session), .success(.count), .success(.removal), .success(.synced),
            .success(.rebatched), .success(.geofences), .success(.adopted):
            self.init(command)
        }
    }
}

extension CommandError {
    init(_ failure: CommandFailure) {
        let reason = failure.reason.isEmpty ? nil : failure.reason
        switch failure.kind {
        case .storage: self.init(.failed, reason)
        case .location: self.init(.noLocation, reason)
        case .busy: self.init(.tooSoon, reason)
        case .geofence(let id): self.init(.invalidGeofence, "\(id): \(failure.reason)")
        case .exists(let id): self.init(.exists, id)
        case .setting(let key):
            let isKnown = Key.named(key) != nil
            self.init(isKnown ? .invalidSetting : .unknownSetting, "\(key) \(failure.reason)")
        case .parameter(let name): self.init(.invalidArguments, name)
        case .time(let text): self.init(.invalidArguments, text)
        case .noRebatch: self.init(.failed, reason)
        case .notTracking: self.init(.failed, "nothing is tracked")
        case .stoppedByPerson: self.init(.stoppedByPerson)
        // Of settings alone it is said why.
        case .denied: self.init(reason == nil ? .notAllowed : .settingNotAllowed, reason)
        }
    }
}
