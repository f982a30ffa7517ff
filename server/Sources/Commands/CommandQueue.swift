package import Base
package import EnvelopeReader
package import ServerStore

/// A command for a device, and what became of it.
package struct CommandEntry: Equatable, Sendable {
    /// The Unix millisecond in which it was ordered; its id is made of it.
    package var number: Int64
    package var name: String
    /// A JSON object.
    package var arguments: String
    /// Who ordered the command.
    package var author: String
    package var expires: Timestamp
    /// When it first went with an answer; whether that arrived is not known before there is a result.
    package var offered: Timestamp?
    package var finished: Timestamp?
    /// A JSON object as the device sent it; nil before that, and for a command that was withdrawn.
    package var result: String?

    package var id: String { WaitingCommand.id(number) }
    package var created: Timestamp { Timestamp(milliseconds: number) }

    /// In one word, as the interface has it.
    ///
    /// - Parameters:
    ///   - now: as the clock has it, which may be behind.
    ///   - latest: the latest moment that it can be; nil: `now`.
    package func state(now: Timestamp, latest: Timestamp? = nil) -> String {
        switch (finished, result) {
        case (.some, .some): "finished"
        case (.some, nil): "withdrawn"
        case (nil, _):
            expires <= now || number > WaitingCommand.last(latest ?? now)
                ? "expired" : offered == nil ? "waiting" : "offered"
        }
    }
}

/// The commands of devices, in the database. Each function is for a thread of the store.
package enum CommandQueue {
    /// Commands of one device that wait; it takes no more at once.
    package static let most = Int64(WaitingCommand.most)
    /// Finished commands of one device that are kept.
    static let kept: Int64 = 1000

    /// Orders a command.
    ///
    /// - Parameters:
    ///   - now: as the clock has it, which may be behind.
    ///   - latest: the latest moment that it can be; nil: `now`.
    /// - Returns: nil when there is no such device, or it is revoked.
    /// - Throws: `.conflict` when as many wait as may.
    package static func add(
        _ order: CommandOrder, for device: Int64, by author: String, now: Timestamp,
        latest: Timestamp? = nil, in session: any Session
    ) throws(StoreError) -> CommandEntry? {
        try session.transaction { () throws(StoreError) in
            // The lock on the row: two orders must not get one number.
            let known = try session.run(
                "UPDATE devices SET revoked = revoked WHERE id = $1 AND revoked IS NULL RETURNING id",
                .integer(device))
            guard !known.isEmpty else { return nil }
            let bound = WaitingCommand.last(latest ?? now)
            let last = try session.run(
                "SELECT max(number) FROM commands WHERE device = $1 AND number <= $2", .integer(device),
                .integer(bound)
            ).first?.first?.integer
            let waiting = try session.run(
                """
                SELECT count(*) FROM commands
                WHERE device = $1 AND finished IS NULL AND expires > $2 AND number <= $3
                """, .integer(device), .integer(now.milliseconds), .integer(bound)
            ).first?.first?.integer
            guard let waiting, waiting < most else {
                throw StoreError(
                    .conflict, operation: "order a command",
                    message: "\(most) commands already wait for the device, the most that it takes at once")
            }
            let entry = CommandEntry(
                number: max(now.milliseconds, (last ?? 0) + 1), name: order.name,
                arguments: String(decoding: order.arguments, as: UTF8.self), author: author,
                expires: now.advanced(bySeconds: order.lifetime))
            try session.run(
                """
                INSERT INTO commands(device, number, name, arguments, author, expires)
                VALUES ($1, $2, $3, $4, $5, $6)
                """, .integer(device), .integer(entry.number), .text(entry.name), .text(entry.arguments),
                .text(entry.author), .integer(entry.expires.milliseconds))
            try forget(device, now: now, in: session)
            return entry
        }
    }

    /// Removes what was finished long ago.
    private static func forget(_ device: Int64, now: Timestamp, in session: any Session) throws(StoreError) {
        try session.run(
            """
            DELETE FROM commands WHERE device = $1 AND (finished IS NOT NULL OR expires <= $2) AND number < (
                SELECT min(number) FROM (
                    SELECT number FROM commands WHERE device = $1 ORDER BY number DESC LIMIT $3) AS newest)
            """, .integer(device), .integer(now.milliseconds), .integer(kept))
    }

    /// One page of the commands of a device, newest first.
    ///
    /// - Parameter number: of the last of the page before.
    package static func all(
        of device: Int64, for viewer: Viewer, before number: Int64 = .max, limit: Int = 1000,
        in session: any Session
    ) throws(StoreError) -> [CommandEntry] {
        try session.run(
            """
            SELECT number, name, arguments, author, expires, offered, finished, result FROM commands
            WHERE \(Viewer.seesDevice) AND device = $2 AND number < $3 ORDER BY number DESC LIMIT $4
            """, viewer.cell, .integer(device), .integer(number), .integer(Int64(limit))
        ).compactMap { row in
            guard let number = row[0].integer, let name = row[1].text, let arguments = row[2].text,
                let author = row[3].text, let expires = row[4].integer
            else { return nil }
            return CommandEntry(
                number: number, name: name, arguments: arguments, author: author,
                expires: Timestamp(milliseconds: expires),
                offered: row[5].integer.map { Timestamp(milliseconds: $0) },
                finished: row[6].integer.map { Timestamp(milliseconds: $0) }, result: row[7].text)
        }
    }

    /// Takes a command back. A device that has got it already does it all the same, and its result is not kept.
    ///
    /// - Returns: false when there is no such command, or it is finished.
    package static func withdraw(
        _ number: Int64, of device: Int64, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        try !session.run(
            """
            UPDATE commands SET finished = $1 WHERE device = $2 AND number = $3 AND finished IS NULL
            RETURNING number
            """, .integer(now.milliseconds), .integer(device), .integer(number)
        ).isEmpty
    }
}
