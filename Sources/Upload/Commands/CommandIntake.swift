package import Base
package import DaemonConfiguration

/// Decides whether the commands of an answer are taken: how many an hour, and signed lists each once, in the order of their
/// issue. Pure; times are arguments.
package struct CommandIntake: Sendable {
    /// Rows that may be added to the journal within an hour. A repeated command adds none: a server repeats each until it
    /// has its result.
    package static let hourlyLimit = 60
    private static let hour = 3600.0

    /// When the rows of the last hour were added, oldest first; at most ``hourlyLimit``.
    private var added: [BootInstant]

    /// - Parameters:
    ///   - arrivals: when the latest rows of the journal were added, by the clock of that time. Those of the last hour count.
    ///     So do those of an hour to come: without a battery the clock has begun anew.
    ///   - time: by the same clock.
    package init(arrivals: [Timestamp] = [], at time: Timestamp, now: BootInstant) {
        added = arrivals.map { time.seconds(since: $0) }.filter { abs($0) < Self.hour }
            .map { now.advanced(bySeconds: -max($0, 0)) }.sorted()
    }

    /// What an answer asks for.
    ///
    /// - Parameters:
    ///   - answer: a believed 2xx to a request with rows, or to one that says that the vehicle lives.
    ///   - batch: what the request carried.
    ///   - sync: the settings of the destination, by now.
    ///   - installID: of this vehicle, for which a list must have been signed.
    package static func hear(
        _ answer: Answer, to batch: UUIDv7, from destination: DestinationName, _ sync: Settings.Sync,
        installID: String
    ) -> Hearing {
        guard let rules = sync.commands, sync.mayHearCommands else { return .nothing }
        return CommandReader.read(answer, to: batch, from: destination, rules, installID: installID)
    }

    /// Whether commands are taken, to be journaled; they count as taken then.
    ///
    /// - Parameters:
    ///   - rows: that they would add to the journal. A list that adds none is always taken: it is answered from results.
    ///   - lastCounter: the highest of a signed list that has been taken, of the journal and of the small file; nil: none has.
    ///   - time: by a trusted clock; nil: it is not known. Then they are taken, and wait in the journal until it is.
    /// - Returns: why none of them is; nil: they are.
    package mutating func admit(
        _ heard: HeardCommands, adding rows: Int, after lastCounter: Int64?, at time: Timestamp?,
        now: BootInstant
    ) -> CommandListRefusal? {
        guard rows > 0 else { return nil }
        if let warrant = heard.warrant {
            if let time, time >= warrant.expiresAt {
                return CommandListRefusal(.expired, "they were to be run before \(warrant.expiresAt.iso8601)")
            }
            if let time, ServerCommand.Warrant.isAhead(warrant.counter, of: time) {
                return CommandListRefusal(
                    .counterAhead,
                    "their counter \(warrant.counter) is more than a day ahead; it must be the Unix milliseconds of their issue"
                )
            }
            if let lastCounter, warrant.counter <= lastCounter {
                return CommandListRefusal(
                    .replayed, "their counter \(warrant.counter) is not higher than \(lastCounter)")
            }
        }
        added.removeAll { now.seconds(since: $0) >= Self.hour }
        guard added.count + rows <= Self.hourlyLimit else {
            return CommandListRefusal(
                .tooOften,
                "with them there would be \(added.count + rows) within an hour, and \(Self.hourlyLimit) are the most"
            )
        }
        added += Array(repeating: now, count: rows)
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
