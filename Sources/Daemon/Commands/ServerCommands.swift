internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Upload

/// Has the commands of servers carried out, through the dispatcher like those of anybody else, and logs what became of
/// them. Confined to the main thread.
final class ServerCommands {
    private let hub: Hub
    private let configurator: Configurator
    private let dispatcher: Dispatcher

    init(hub: Hub, configurator: Configurator, dispatcher: Dispatcher) {
        self.hub = hub
        self.configurator = configurator
        self.dispatcher = dispatcher
    }

    /// The uploader of its destination is given the outcome, once.
    func run(_ record: CommandRecord, now: BootInstant) {
        guard let command = record.text.flatMap({ ServerCommand(text: $0) }) else {
            return end(
                record, CommandOutcome(error: CommandError(.failed, "it cannot be read any more").text))
        }
        let sync = configurator.loaded.settings.sync(of: record.destination.text)
        // What a person has decided is for the reader to say, when it comes to it.
        switch CommandJudge.judge(command, by: sync, while: nil, at: hub.clock.trusted(now: now)) {
        case .refuse(let error): end(record, CommandOutcome(error: error.text))
        case .wait: hub.uploaders[record.destination]?.deliver(.commandEnded(record, .later))
        case .run(.sync): drainOnceMore(record)
        case .run(.uploadLog(let url)): uploadLog(record, to: url, now: now)
        case .run(.start), .run(.stop), .run(.setConfig), .run(.unsetConfig), .run(.addGeofences),
            .run(.removeGeofences), .run(.removeAllGeofences), .run(.setMotion), .run(.locate):
            dispatcher.serve(
                command, of: record.destination, batch: record.batch.description, now: now
            ) { [weak self] result in self?.end(record, CommandOutcome(result)) }
        }
    }

    /// One more drain after this one. A drain of nothing would only carry the result of this command, and the answer to that
    /// another such command: the result waits for another occasion then.
    private func drainOnceMore(_ record: CommandRecord) {
        if hub.store.counts()[record.destination]?.pending ?? 0 > 0 {
            hub.uploaders[record.destination]?.deliver(.trigger(.results))
        }
        end(record, CommandOutcome())
    }

    private func uploadLog(_ record: CommandRecord, to url: String?, now: BootInstant) {
        let uploader = hub.uploaders[record.destination]
        switch uploader?.askForLog(at: url, for: record.id, now: now) {
        case .success?: uploader?.deliver(.commandEnded(record, .upload))
        case .failure(let failure)?:
            end(record, CommandOutcome(error: CommandError(.tooSoon, failure.reason).text))
        case nil: return
        }
    }

    private func end(_ record: CommandRecord, _ outcome: CommandOutcome) {
        record.log(outcome)
        hub.uploaders[record.destination]?.deliver(.commandEnded(record, .outcome(outcome)))
    }
}

extension CommandRecord {
    /// A line that says what has become of it.
    func log(_ outcome: CommandOutcome) {
        let what = "\(name) \(id) of the server of \(destination)"
        let fields: [(Log.Field, String)] = [
            (.destination, destination.text), (.batch, batch.description), (.command, id),
        ]
        if let error = outcome.error {
            Log.warning(.serverCommand, "\(what) not done: \(error)", fields)
        } else {
            Log.notice(.serverCommand, "\(what) done", fields)
        }
    }
}

extension CommandOutcome {
    fileprivate init(_ result: CommandResult) {
        var position: Timestamp?
        if let value = result.value,
            case .string(let time)? = JSONReader.read(Array(value.utf8))?[path: "location.timestamp"]
        {
            position = Timestamp(iso8601: time)
        }
        self.init(error: result.error, result: result.value, positionAt: position)
    }
}
