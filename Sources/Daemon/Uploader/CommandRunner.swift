internal import Base
internal import Linux
internal import Storage
internal import Upload

/// Has the commands of one destination's server run: in the order in which they came, one at a time, each from the journal.
/// Its result is written once its effect is durable; what was under way when the daemon ended is run again.
///
/// Confined to the uploader's thread.
final class CommandRunner {
    /// Seconds between two looks while the disk fails, or the time is not known.
    private static let pause = 10.0

    private let port: UploaderPort
    private let hub: Hub
    /// The server may ask for something.
    private(set) var isEnabled = false
    /// With the main thread, which has it carried out.
    private var current: CommandRecord?
    /// Carried out, or refused, but not written down yet.
    private var unwritten: (command: CommandRecord, outcome: CommandOutcome, wasBegun: Bool)?
    /// Positions up to then have been deleted since what is with the main thread was begun; nil: none.
    private var erased: Timestamp?
    /// Rows were answered with commands: their results are worth an attempt once all have been run. Those of commands that
    /// came with the answer to results wait for another occasion, so that no server keeps this going.
    private var wantsResults = false
    /// The number of the latest signed list that has been begun, as its file says; nil: not in this run.
    private var written: Int64?
    /// Nothing is begun before that.
    private var retryAt: BootInstant?

    init(port: UploaderPort, hub: Hub) {
        self.port = port
        self.hub = hub
    }

    /// When there is something to do again; nil: when something happens.
    var due: BootInstant? { isEnabled ? retryAt : nil }

    /// Nothing is under way.
    var isIdle: Bool { current == nil && unwritten == nil }

    /// - Parameter isEnabled: the settings let the server ask for something.
    func configure(isEnabled: Bool) {
        self.isEnabled = isEnabled
        retryAt = nil
    }

    /// Something is to be run, or a result to be sent.
    var hasWork: Bool { isEnabled && hub.store.counts().commands[port.name] != nil }

    /// Commands have been written down.
    func journaled(_ journaling: Journaling, isAnswerToRows: Bool) {
        if isAnswerToRows, journaling.count > 0 { wantsResults = true }
    }

    /// Whether an attempt is to be made for the results.
    func takeResults() -> Bool {
        guard wantsResults, isEnabled, isIdle else { return false }
        let left = hub.store.counts().commands[port.name] ?? CommandCounts()
        guard left.waiting == 0 else { return false }
        wantsResults = false
        return left.results > 0
    }

    /// The disk works again, or the time is known.
    func obstacleGone() {
        retryAt = nil
    }

    /// Goes on with what is to be done. Costs nothing while the server may not ask for anything.
    func proceed(now: BootInstant) {
        guard isEnabled || unwritten != nil, retryAt.map({ $0 <= now }) ?? true else { return }
        retryAt = nil
        do {
            try writeResult(now: now)
            guard isEnabled, isIdle, hub.store.counts().commands[port.name]?.waiting ?? 0 > 0,
                let next = try hub.store.nextCommand(of: port.name)
            else { return }
            try begin(next, now: now)
        } catch {
            // Whoever writes next says what is wrong with the disk.
            retryAt = now.advanced(bySeconds: Self.pause)
        }
    }

    private func begin(_ next: CommandRecord, now: BootInstant) throws {
        if let expiry = next.expiresAt {
            // Until the time is known it may be over; those behind it wait as well, as they come in order.
            guard let time = hub.clock.trusted(now: now) else {
                retryAt = now.advanced(bySeconds: Self.pause)
                return
            }
            let isAhead = next.counter.map { ServerCommand.Warrant.isAhead($0, of: time) } ?? false
            if time >= expiry || isAhead {
                let error = CommandError(time >= expiry ? .expired : .counterAhead)
                unwritten = (next, CommandOutcome(error: error.text), wasBegun: false)
                try writeResult(now: now)
                return port.commands.wakeup.signal()
            }
        }
        // An older database, put back, may hold older lists: the file never goes back.
        if let counter = next.counter,
            counter > written ?? hub.files.readCommandCounter().content?.counter ?? 0
        {
            // Without the database it must be known, too.
            try hub.makingRoom { () throws(SystemError) in
                try hub.files.write(SmallFiles.CommandCounter(counter: counter))
            }
            written = counter
        }
        current = next
        hub.post(.runCommand(next))
    }

    /// It has been carried out, or refused.
    ///
    /// - Parameter outcome: nil: it is to be tried again later.
    func ended(_ command: CommandRecord, _ outcome: CommandOutcome?, now: BootInstant) {
        guard command == current else { return }
        current = nil
        defer { erased = nil }
        guard var outcome else { return retryAt = now.advanced(bySeconds: Self.pause) }
        if let erased { outcome.forgetPosition(upTo: erased) }
        unwritten = (command, outcome, wasBegun: true)
        proceed(now: now)
    }

    /// The user has deleted the positions up to then, or all that there are: no result may bring one back that is written
    /// down only after that.
    func erased(upTo cutoff: Timestamp?, now: BootInstant) {
        let cutoff = cutoff ?? hub.clock.time(now: now)
        unwritten?.outcome.forgetPosition(upTo: cutoff)
        if current != nil { erased = max(erased ?? cutoff, cutoff) }
    }

    private func writeResult(now: BootInstant) throws(StorageError) {
        guard let (command, outcome, wasBegun) = unwritten else { return }
        let time = hub.clock.time(now: now)
        try hub.store.finish(command, with: outcome, at: time, wasBegun: wasBegun)
        unwritten = nil
        hub.post(.commandDone(command.done(with: outcome, at: time)))
    }
}
