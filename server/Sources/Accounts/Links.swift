package import Base
package import ServerStore

/// A link with which somebody without an account sees where one vehicle is, from the moment on in which it was made.
package struct LinkEntry: Equatable, Sendable {
    package var device: Int64
    package var id: Int64
    package var created: Timestamp
    package var expires: Timestamp
    /// Who made the link.
    package var author: String
}

/// Links that show a vehicle, in the database, as hashes alone. Each function is for a thread of the store.
package enum Links {
    /// Hours for which a link is good at most.
    package static let longestHours: Int64 = 72
    /// Links of one vehicle that are good at once.
    package static let most: Int64 = 20
    /// Seconds by which clocks may be ahead.
    private static let slack = 86_400.0

    /// Makes a link.
    ///
    /// - Returns: nil when there is no such device, or it is revoked.
    /// - Throws: `.conflict` when it has as many as may be.
    package static func add(
        to device: Int64, hours: Int64, by author: String, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (LinkEntry, Secret)? {
        try session.transaction { () throws(StoreError) in
            // The lock on the row: whoever ends the device ends this link, too.
            let known = try session.run(
                "UPDATE devices SET revoked = revoked WHERE id = $1 AND revoked IS NULL RETURNING id",
                .integer(device))
            guard !known.isEmpty else { return nil }
            try session.run(
                "DELETE FROM links WHERE device = $1 AND expires <= $2", .integer(device),
                .integer(now.milliseconds))
            let count = try session.run("SELECT count(*) FROM links WHERE device = $1", .integer(device))
            guard let count = count.first?.first?.integer, count < most else {
                throw StoreError(
                    .conflict, operation: "make a link",
                    message: "the device has \(most) links already: end one of them")
            }
            let entry = LinkEntry(
                device: device, id: try Numbers.next(.link, in: session), created: now,
                expires: now.advanced(bySeconds: 3600 * Double(hours)), author: author)
            let secret = Secret(.link, of: device)
            try session.run(
                """
                INSERT INTO links(device, id, hash, created, expires, author) VALUES ($1, $2, $3, $4, $5, $6)
                """, .integer(device), .integer(entry.id), .bytes(secret.hash), .integer(now.milliseconds),
                .integer(entry.expires.milliseconds), .text(author))
            return (entry, secret)
        }
    }

    /// The links of a device that are still valid, the newest first.
    package static func all(
        of device: Int64, for viewer: Viewer, now: Timestamp, in session: any Session
    ) throws(StoreError) -> [LinkEntry] {
        try session.run(
            """
            SELECT device, id, created, expires, author FROM links
            WHERE \(Viewer.seesDevice) AND device = $2 AND expires > $3 ORDER BY id DESC
            """, viewer.cell, .integer(device), .integer(now.milliseconds)
        ).compactMap { entry($0) }
    }

    /// - Returns: false when the device has no such link.
    package static func remove(_ id: Int64, of device: Int64, in session: any Session) throws(StoreError)
        -> Bool
    {
        try !session.run(
            "DELETE FROM links WHERE device = $1 AND id = $2 RETURNING id", .integer(device), .integer(id)
        ).isEmpty
    }

    /// - Parameters:
    ///   - now: as the clock has it, which may be behind.
    ///   - latest: the latest moment that it can be. A link that was made long after that was made by a clock that was ahead.
    /// - Returns: the link whose secret this is; nil when there is none, or none any more.
    package static func link(
        of secret: Secret, now: Timestamp, latest: Timestamp, in session: any Session
    ) throws(StoreError) -> LinkEntry? {
        guard secret.kind == .link else { return nil }
        let rows = try session.run(
            """
            SELECT k.device, k.id, k.created, k.expires, k.author, k.hash FROM links k
                JOIN devices d ON d.id = k.device AND d.revoked IS NULL AND d.removed IS NULL
            WHERE k.device = $1 AND k.expires > $2 AND k.created <= $3
            """, .integer(secret.owner), .integer(now.milliseconds),
            .integer(latest.advanced(bySeconds: slack).milliseconds))
        var found: LinkEntry?
        // All are compared, whichever it is.
        for row in rows where row[5].bytes.map({ secret.matches($0) }) ?? false { found = entry(row) }
        return found
    }

    private static func entry(_ row: [Cell]) -> LinkEntry? {
        guard let device = row[0].integer, let id = row[1].integer, let created = row[2].integer,
            let expires = row[3].integer, let author = row[4].text
        else { return nil }
        return LinkEntry(
            device: device, id: id, created: Timestamp(milliseconds: created),
            expires: Timestamp(milliseconds: expires), author: author)
    }
}
