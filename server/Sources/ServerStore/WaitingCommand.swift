package import Base
internal import EnvelopeReader

/// A command that a device has not answered yet.
package struct WaitingCommand: Equatable, Sendable {
    package var device: Int64
    /// The Unix millisecond in which it was ordered; of two in one, the later has the next.
    package var number: Int64
    package var name: String
    /// A JSON object.
    package var arguments: String
    /// Unix milliseconds.
    package var expires: Int64
    /// The command has gone with an answer before.
    package var wasOffered: Bool

    /// The command as the device and the interface name it. Numbers never come again, not even when a backup is restored:
    /// a device remembers what it has done.
    package var id: String { Self.id(number) }

    package static func id(_ number: Int64) -> String { "c-\(number)" }

    /// - Returns: nil for what is no id of ours.
    package static func number(_ id: some StringProtocol) -> Int64? {
        guard id.hasPrefix("c-"), let number = Int64(id.dropFirst(2)), number > 0, Self.id(number) == id
        else {
            return nil
        }
        return number
    }

    /// Commands of one answer; beekond takes no more.
    package static let most = 16
    /// Bytes of all their arguments; plain and, in Base64, signed they stay below 64 KiB.
    static let mostBytes = 24 << 10

    /// The greatest number that a command can have. One with a greater one was ordered when the clock was ahead, would be good for
    /// as long, and is for nobody.
    ///
    /// - Parameter latest: the latest moment that it can be.
    package static func last(_ latest: Timestamp) -> Int64 { latest.milliseconds + 86_400_000 }

    /// The columns of `init`, of the commands that are not finished.
    ///
    /// - Parameter devices: condition with the parameter `$1`; `$2` is the time by which they expire, `$3` their greatest number.
    static func query(_ devices: String) -> String {
        """
        SELECT device, number, name, arguments, expires, offered FROM commands
        WHERE \(devices) AND finished IS NULL AND expires > $2 AND number <= $3 ORDER BY device, number
        """
    }

    /// The commands that go with an answer now, where some have been added since its upload was stored.
    ///
    /// - Parameters:
    ///   - age: by what they expire.
    ///   - latest: the latest moment that it can be.
    ///   - counter: what that of a signed list must reach at least; nil when nothing is signed.
    package static func offer(
        to device: Int64, age: Timestamp, latest: Timestamp, now: Timestamp, counter: Int64?,
        in session: any Session
    ) throws(StoreError) -> (commands: [WaitingCommand], counter: Int64?) {
        let commands = try session.run(
            query("device = $1"), .integer(device), .integer(age.milliseconds), .integer(last(latest))
        ).compactMap { WaitingCommand($0) }.prefixThatFits
        for command in commands where !command.wasOffered {
            try session.run(
                "UPDATE commands SET offered = $1 WHERE device = $2 AND number = $3",
                .integer(now.milliseconds), .integer(device), .integer(command.number))
        }
        guard let counter, !commands.isEmpty else { return (commands, nil) }
        // Lists are signed for the installation that the device is bound to, which has uploaded last.
        let greater = try session.run(
            """
            UPDATE presence SET counter = CASE WHEN coalesce(counter, 0) < $1 THEN $1 ELSE counter + 1 END
            WHERE device = $2 AND install_id IN (SELECT id FROM installations WHERE device = $2 AND state = $3)
            RETURNING counter
            """, .integer(counter), .integer(device), .integer(Installations.State.bound.rawValue))
        return (commands, greater.first?.first?.integer)
    }

    init?(_ row: [Cell]) {
        guard let device = row[0].integer, let number = row[1].integer, let name = row[2].text,
            let arguments = row[3].text, let expires = row[4].integer
        else { return nil }
        self.device = device
        self.number = number
        self.name = name
        self.arguments = arguments
        self.expires = expires
        wasOffered = row[5] != .null
    }
}

extension Array<WaitingCommand> {
    /// As many of the first as fit into an answer. The first always does.
    var prefixThatFits: [WaitingCommand] {
        var size = 0
        return Array(
            prefix(WaitingCommand.most).prefix { command in
                size += command.arguments.utf8.count
                return size <= WaitingCommand.mostBytes
            })
    }
}

extension Submission {
    /// Results of commands of ours; of a command, the first.
    var results: [(number: Int64, result: CommandResult)] {
        var known: Set<Int64> = []
        return batch.remarks.results.compactMap { result in
            WaitingCommand.number(result.id).flatMap { known.insert($0).inserted ? ($0, result) : nil }
        }
    }
}
