internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Upload

/// Hears what the server of one destination asks for in its answers, and says what is to be written down of it. Also hands
/// out the results, for the envelopes in which they go.
///
/// Confined to the uploader's thread.
final class CommandListener {
    /// Results in one envelope at most: its body stays as small as that of a batch, and a server may pass over what is more.
    private static let resultLimit = 32

    private let port: UploaderPort
    private let hub: Hub
    private let installID: String
    /// nil before anything has been asked for.
    private var intake: CommandIntake?
    /// What was asked for in the latest answer, and has not been written down yet.
    private var heard: (commands: HeardCommands, batch: UUIDv7)?
    /// The commands of the latest answer, once the intake has accepted them.
    private var list: CommandList?
    /// Commands of the list that came for the first time and can only be refused.
    private var refusable: [NewCommand] = []
    /// Results that are under way.
    private var taken: [CommandRecord] = []

    init(port: UploaderPort, hub: Hub, installID: String) {
        self.port = port
        self.hub = hub
        self.installID = installID
    }

    /// Reads a believed 2xx. `take` says what is to be written down of it.
    func hear(_ reply: ServerAnswer, to batch: UUIDv7, _ sync: Settings.Sync?) {
        (heard, list) = (nil, nil)
        guard let sync, sync.commands != nil, case .http(let answer) = reply else { return }
        switch CommandIntake.hear(answer, to: batch, from: port.name, sync, installID: installID) {
        case .nothing: return
        case .commands(let commands): heard = (commands, batch)
        case .refused(let refusal): refused(refusal, batch)
        }
    }

    /// What is to be written down with the acknowledgement; nil: nothing. The same again, until `written`.
    func take(now: BootInstant) throws(StorageError) -> CommandList? {
        guard let (heard, batch) = heard else { return list }
        let commands = heard.commands.map { NewCommand($0) }
        let known = try hub.store.knownCommands(among: commands, of: port.name)
        var counter: Int64?
        if heard.warrant != nil, known.added > 0 { counter = try lastCounter(now: now) }
        if intake == nil { intake = try restoredIntake(now: now) }
        self.heard = nil
        let refusal = intake?.admit(
            heard, adding: known.added, after: counter, at: hub.clock.trusted(now: now), now: now)
        if let refusal {
            refused(refusal, batch)
            return nil
        }
        refusable = commands.filter { $0.refusal != nil && !known.ids.contains($0.id) }
        list = CommandList(from: port.name, answering: batch, at: hub.clock.time(now: now), commands)
        return list
    }

    /// The hour goes on over a restart.
    private func restoredIntake(now: BootInstant) throws(StorageError) -> CommandIntake {
        let limit = CommandIntake.hourlyLimit
        let arrivals = try hub.store.arrivalsOfCommands(of: port.name, limit: limit)
        return CommandIntake(arrivals: arrivals, at: hub.clock.time(now: now), now: now)
    }

    /// The list has been written down.
    func written(_ journaling: Journaling) {
        if let list { tellRefused(journaling, list.batch) }
        if journaling.unheard > 0, let list {
            let refusal = "\(journaling.unheard) more do not fit in: too many have yet to be done"
            Log.warning(.serverCommand, words(refusal), fields(list.batch))
        }
        list = nil
        refusable = []
    }

    /// A line for each that is not run, like that for one that is.
    private func tellRefused(_ journaling: Journaling, _ batch: UUIDv7) {
        // Where not all have found room, those at the end have none.
        for command in refusable.prefix(journaling.refused) {
            Log.warning(
                .serverCommand,
                "\(command.name) \(command.id) of the server of \(port.name) not done: \(command.refusal ?? "")",
                fields(batch) + [(.command, command.id)])
        }
        let reused = journaling.refused - refusable.count
        guard reused > 0 else { return }
        let words =
            "\(reused) of the commands of the server of \(port.name) not done: \(CommandRecord.reused)"
        Log.warning(.serverCommand, words, fields(batch))
    }

    /// Without those that are in the future by a trusted clock: an earlier version took any, and nothing after it.
    private func lastCounter(now: BootInstant) throws(StorageError) -> Int64? {
        let reading = hub.files.read(CommandCounter.self)
        let file = hub.content(
            of: reading, otherwise: "signed commands that were carried out may be repeated")
        let limit = hub.clock.trusted(now: now).map { ServerCommand.Warrant.latest(at: $0) } ?? .max
        let kept = file.flatMap { $0.counter <= limit ? $0.counter : nil }
        return [try hub.store.highestCommandCounter(upTo: limit), kept].compactMap(\.self).max()
    }

    private func refused(_ refusal: CommandListRefusal, _ batch: UUIDv7) {
        port.requests.addRefusedCommands()
        Log.warning(.serverCommand, words("\(refusal.kind.rawValue), \(refusal.detail)"), fields(batch))
    }

    private func words(_ reason: String) -> String {
        "commands of the server of \(port.name) refused: \(reason)"
    }

    private func fields(_ batch: UUIDv7) -> [(Log.Field, String)] {
        [(.destination, port.name.text), (.batch, batch.description)]
    }

    // MARK: Results

    /// The oldest that the server does not have yet, a JSON object each, and the time of the oldest position in them.
    func takeResults() throws(StorageError) -> (texts: [String], position: Timestamp?) {
        taken =
            hub.store.counts().commands[port.name]?.results ?? 0 > 0
            ? try hub.store.queuedResults(for: port.name, limit: Self.resultLimit) : []
        return (taken.map(\.wire), taken.compactMap(\.outcome.positionAt).min())
    }

    /// The server has those that were taken last; what it has asked for in its answer is written down as well.
    ///
    /// - Returns: what has become of that.
    func acceptedResults(
        _ reply: ServerAnswer, to envelope: UUIDv7, _ sync: Settings.Sync?, now: BootInstant
    ) throws(StorageError) -> Journaling {
        hear(reply, to: envelope, sync)
        let journaling = try hub.store.journal(try take(now: now), sent: taken)
        taken = []
        written(journaling)
        return journaling
    }
}

extension NewCommand {
    init(_ command: ServerCommand) {
        var refusal: String?
        if case .refused(let error) = command.content { refusal = error.text }
        self.init(
            id: command.id, name: command.name, digest: Array(command.digest.utf8), text: command.text ?? "",
            counter: command.warrant?.counter, expiresAt: command.warrant?.expiresAt, refusal: refusal)
    }
}

extension CommandRecord {
    /// An element of `command_results`.
    fileprivate var wire: String {
        CommandResult(id: id, command: name, error: outcome.error, value: outcome.result).text
    }
}
