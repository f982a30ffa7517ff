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
    private let outbox: Outbox
    /// The server may ask for something.
    private(set) var isEnabled = false
    /// With the main thread, which has it carried out.
    private var current: CommandRecord?
    /// A command that takes an upload, which others need not wait for. Not written down before the upload has
    /// succeeded, or is given up: a crash before begins it anew.
    private var uploading: CommandRecord?
    /// Carried out, or refused, but not written down yet.
    private var unwritten: [(command: CommandRecord, outcome: CommandOutcome, wasBegun: Bool)] = []
    /// Positions up to then have been deleted since what is with the main thread was begun; nil: none.
    private var erased: Timestamp?
    /// Rows were answered with commands: their results are worth an attempt once all have been run. Those of commands that
    /// came with the answer to results wait for another occasion, so that no server keeps this going.
    private var wantsResults = false
    /// The number of the latest signed list that has been begun, as its file says; nil: not in this run.
    private var written: Int64?
    /// When to try again; no command is begun before. nil: at once.
    private var retryAt: BootInstant?

    init(port: UploaderPort, hub: Hub, outbox: Outbox) {
        self.port = port
        self.hub = hub
        self.outbox = outbox
    }

    /// When there is something to do again; nil: when something happens.
    var due: BootInstant? { isEnabled ? retryAt : nil }

    /// Whether nothing is under way that others wait for.
    var isIdle: Bool { current == nil && unwritten.isEmpty }

    private var counts: CommandCounts { hub.store.counts().commands[port.name] ?? CommandCounts() }

    /// Others than one that takes an upload have yet to be run.
    private var isWaiting: Bool { counts.waiting > (uploading == nil ? 0 : 1) }

    /// - Parameter isEnabled: the settings let the server ask for something.
    func configure(isEnabled: Bool) {
        self.isEnabled = isEnabled
        retryAt = nil
        // It is refused with all that waits.
        if !isEnabled, uploading != nil {
            port.log.done()
            uploading = nil
        }
    }

    /// Something is to be run, or a result to be sent.
    var hasWork: Bool { isEnabled && hub.store.counts().commands[port.name] != nil }

    /// Commands have been written down.
    func journaled(_ journaling: Journaling, isAnswerToRows: Bool) {
        if isAnswerToRows, journaling.count > 0 { wantsResults = true }
    }

    /// Whether an attempt is to be made for the results.
    func takeResults() -> Bool {
        guard wantsResults, isEnabled, isIdle, !isWaiting else { return false }
        wantsResults = false
        return counts.results > 0
    }

    /// The disk works again, or the time is known.
    func obstacleGone() {
        retryAt = nil
    }

    /// Goes on with what is to be done. Costs nothing while the server may not ask for anything.
    func proceed(now: BootInstant) {
        guard isEnabled || !unwritten.isEmpty, retryAt.map({ $0 <= now }) ?? true else { return }
        retryAt = nil
        do {
            try writeResults(now: now)
            guard isEnabled, isIdle, isWaiting,
                let next = try hub.store.nextCommand(of: port.name, besides: uploading)
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
                unwritten.append((next, CommandOutcome(error: error.text), wasBegun: false))
                try writeResults(now: now)
                return port.commands.wakeup.signal()
            }
        }
        // An older database, put back, may hold older lists: the file never goes back.
        if let counter = next.counter, counter > lastBegun(now: now) {
            // Without the database it must be known, too.
            try hub.makingRoom { () throws(SystemError) in
                try hub.files.write(CommandCounter(counter: counter))
            }
            written = counter
        }
        current = next
        outbox.post(.runCommand(next))
    }

    /// The highest counter in the small file. One in the future by a trusted clock counts as none.
    private func lastBegun(now: BootInstant) -> Int64 {
        if let written { return written }
        guard let kept = hub.files.read(CommandCounter.self).content?.counter else { return 0 }
        guard let time = hub.clock.trusted(now: now) else { return kept }
        return ServerCommand.Warrant.isAhead(kept, of: time) ? 0 : kept
    }

    /// A command has been carried out, or refused, or is to be waited for.
    func ended(_ command: CommandRecord, _ end: CommandEnd, now: BootInstant) {
        guard command == current else { return }
        current = nil
        defer { erased = nil }
        switch end {
        case .later: return retryAt = now.advanced(bySeconds: Self.pause)
        case .upload: uploading = command
        case .outcome(var outcome):
            if let erased { outcome.forgetPosition(upTo: erased) }
            unwritten.append((command, outcome, wasBegun: true))
        }
        proceed(now: now)
    }

    /// The upload that a command has asked for is over.
    ///
    /// - Parameter id: of the command. The main thread may not have said yet that it is one.
    func uploadEnded(_ id: String, _ outcome: CommandOutcome, now: BootInstant) {
        guard let command = [uploading, current].compactMap(\.self).first(where: { $0.id == id }) else {
            return
        }
        if uploading == command { uploading = nil } else { current = nil }
        command.log(outcome)
        unwritten.append((command, outcome, wasBegun: true))
        // It comes once an hour at most: no server keeps this going.
        wantsResults = true
        proceed(now: now)
    }

    /// The user has deleted the positions up to then, or all that there are: no result may bring one back that is written
    /// down only after that.
    func erased(upTo cutoff: Timestamp?, now: BootInstant) {
        let cutoff = cutoff ?? hub.clock.time(now: now)
        for index in unwritten.indices { unwritten[index].outcome.forgetPosition(upTo: cutoff) }
        if current != nil { erased = max(erased ?? cutoff, cutoff) }
    }

    private func writeResults(now: BootInstant) throws(StorageError) {
        let time = hub.clock.time(now: now)
        while let (command, outcome, wasBegun) = unwritten.first {
            try hub.store.finish(command, with: outcome, at: time, wasBegun: wasBegun)
            unwritten.removeFirst()
            outbox.post(.commandDone(command.done(with: outcome, at: time)))
        }
    }
}
