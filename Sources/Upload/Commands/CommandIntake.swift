package import Base
package import DaemonConfiguration

/// Decides whether the commands of an answer are taken: how many an hour, and signed lists each once, in the order of their
/// issue. Pure; times are arguments.
package struct CommandIntake: Sendable {
    /// Commands within an hour at most. Those that are known do not count: a server repeats each until it has its result.
    package static let hourlyLimit = 60
    private static let hour = 3600.0

    private let installID: String
    /// The highest counter of a signed list that has been taken; nil: none has.
    package private(set) var lastCounter: Int64?
    /// When those of the last hour came, oldest first; at most ``hourlyLimit``.
    private var taken: [BootInstant] = []

    /// - Parameters:
    ///   - installID: of this vehicle, for which a list must have been signed.
    ///   - lastCounter: what is on the disk, of the journal and of the small file the higher one.
    package init(installID: String, lastCounter: Int64?) {
        self.installID = installID
        self.lastCounter = lastCounter
    }

    /// What an answer asks for.
    ///
    /// - Parameters:
    ///   - answer: a believed 2xx to a request with rows, or to one that says that the vehicle lives.
    ///   - batch: what the request carried.
    ///   - sync: the settings of the destination, by now.
    package func hear(
        _ answer: Answer, to batch: UUIDv7, from destination: DestinationName, _ sync: Settings.Sync
    ) -> Hearing {
        guard let rules = sync.commands, sync.mayHearCommands else { return .nothing }
        return CommandReader.read(answer, to: batch, from: destination, rules, installID: installID)
    }

    /// Whether commands are taken, to be journaled; they count as taken then.
    ///
    /// - Parameters:
    ///   - known: those of their ids that are in the journal. A list of known ones alone is always taken: they are answered
    ///     from their results.
    ///   - time: by a trusted clock; nil: it is not known. Then they are taken, and wait in the journal until it is.
    /// - Returns: why none of them is; nil: they are.
    package mutating func admit(
        _ heard: HeardCommands, known: Set<String>, at time: Timestamp?, now: BootInstant
    ) -> CommandListRefusal? {
        let new = heard.commands.count { !known.contains($0.id) }
        guard new > 0 else { return nil }
        if let warrant = heard.warrant {
            if let time, time >= warrant.expiresAt {
                return CommandListRefusal(.expired, "they were to be run before \(warrant.expiresAt.iso8601)")
            }
            if let lastCounter, warrant.counter <= lastCounter {
                return CommandListRefusal(
                    .replayed, "their counter \(warrant.counter) is not higher than \(lastCounter)")
            }
        }
        taken.removeAll { now.seconds(since: $0) >= Self.hour }
        guard taken.count + new <= Self.hourlyLimit else {
            return CommandListRefusal(
                .tooOften,
                "with them there would be \(taken.count + new) within an hour, and \(Self.hourlyLimit) are the most"
            )
        }
        taken += Array(repeating: now, count: new)
        if let warrant = heard.warrant { lastCounter = warrant.counter }
        return nil
    }
}

extension Settings.Sync {
    /// Whether answers come over a way on which nobody else can write them, from where commands may come. The
    /// configuration has been checked for that; what is at stake is worth a second look.
    fileprivate var mayHearCommands: Bool {
        guard deliver == .all, mqtt == nil else { return false }
        return Settings.isTrustedWay(url, proxy: proxy)
    }
}
