internal import Base
internal import Storage

/// Has the commands of servers carried out, through the dispatcher like those of anybody else. Confined to the main thread.
final class ServerCommands {
    private let hub: Hub
    private let dispatcher: Dispatcher

    init(hub: Hub, dispatcher: Dispatcher) {
        self.hub = hub
        self.dispatcher = dispatcher
    }

    /// The uploader of its destination is given the outcome, once.
    func run(_ command: CommandRecord, now: BootInstant) {
        end(command, CommandOutcome(error: "unsupported"))
    }

    private func end(_ command: CommandRecord, _ outcome: CommandOutcome) {
        let what = "\(command.name) \(command.id) of the server of \(command.destination)"
        let fields: [(Log.Field, String)] = [
            (.destination, command.destination.text), (.batch, command.batch.description),
            (.command, command.id),
        ]
        if let error = outcome.error {
            Log.warning(.serverCommand, "\(what) refused: \(error)", fields)
        } else {
            Log.notice(.serverCommand, "\(what) done", fields)
        }
        hub.uploaders[command.destination]?.deliver(.commandEnded(command, outcome))
    }
}
