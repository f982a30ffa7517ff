package import Base
internal import CServerCrypto
package import ServerStore

/// A code with which vehicles of a fleet enrol themselves at their first boot.
package struct ClaimEntry: Equatable, Sendable {
    package var id: Int64
    package var created: Timestamp
    package var expires: Timestamp
    /// Devices that may still be made with it.
    package var uses: Int64
}

/// Codes for enrolment, in the database, as hashes alone. Each function is for a thread of the store.
package enum Claims {
    /// Characters that nobody mistakes for others (Crockford's Base32).
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// 100 random bits: nobody can try them.
    private static let length = 20

    /// Makes a code, which is shown this once, in groups of five.
    package static func add(
        uses: Int64, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (ClaimEntry, code: String) {
        let code = Secret.random(length).map { alphabet[Int($0 & 31)] }
        let expires = now.advanced(bySeconds: lifetime)
        let id = try session.transaction { () throws(StoreError) in
            let id = try Numbers.next(.claim, in: session)
            try session.run(
                "INSERT INTO claims(id, hash, created, expires, uses) VALUES ($1, $2, $3, $4, $5)",
                .integer(id), .bytes(Digest.sha256(code)), .integer(now.milliseconds),
                .integer(expires.milliseconds), .integer(uses))
            return id
        }
        let groups = stride(from: 0, to: length, by: 5).map {
            String(decoding: code[$0..<$0 + 5], as: UTF8.self)
        }
        return (
            ClaimEntry(id: id, created: now, expires: expires, uses: uses), groups.joined(separator: "-")
        )
    }

    /// All that are left, by number.
    package static func all(in session: any Session) throws(StoreError) -> [ClaimEntry] {
        try session.run("SELECT id, created, expires, uses FROM claims ORDER BY id").compactMap { row in
            guard let id = row[0].integer, let created = row[1].integer, let expires = row[2].integer,
                let uses = row[3].integer
            else { return nil }
            return ClaimEntry(
                id: id, created: Timestamp(milliseconds: created), expires: Timestamp(milliseconds: expires),
                uses: uses)
        }
    }

    /// - Returns: false when there is no such code.
    package static func remove(_ id: Int64, in session: any Session) throws(StoreError) -> Bool {
        try !session.run("DELETE FROM claims WHERE id = $1 RETURNING id", .integer(id)).isEmpty
    }

    /// Makes a device for whoever knows a code.
    ///
    /// The answer may be lost on its way: as long as none of the device's tokens has been used, the same code and name buy
    /// new ones, and cost no further use.
    ///
    /// - Returns: nil when the code is none, has expired or is used up.
    /// - Throws: `.conflict` when the name is taken by another device.
    package static func enroll(
        _ name: String, code: String, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair)? {
        try session.transaction { () throws(StoreError) in
            // The lock on the row makes two enrolments with one code wait for each other.
            let rows = try session.run(
                "UPDATE claims SET uses = uses WHERE hash = $1 AND expires > $2 RETURNING id, uses",
                .bytes(Digest.sha256(normalized(code))), .integer(now.milliseconds))
            guard let id = rows.first?[0].integer, let uses = rows.first?[1].integer else { return nil }
            if let again = try repeated(name, claim: id, lifetime: lifetime, now: now, in: session) {
                return again
            }
            guard uses > 0 else { return nil }
            let (entry, pair) = try Devices.insert(
                name, claim: id, lifetime: lifetime, now: now, in: session)
            try session.run("UPDATE claims SET uses = uses - 1 WHERE id = $1", .integer(id))
            return (entry, pair)
        }
    }

    private static func repeated(
        _ name: String, claim: Int64, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair)? {
        let rows = try session.run(
            """
            SELECT id, created FROM devices d WHERE name = $1 AND claim = $2 AND revoked IS NULL
                AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.device = d.id AND t.used IS NOT NULL)
            """, .text(name), .integer(claim))
        guard let id = rows.first?[0].integer, let created = rows.first?[1].integer else { return nil }
        try Devices.forget(id, in: session)
        let pair = try Devices.issue(to: id, pair: 1, parent: nil, lifetime: lifetime, now: now, in: session)
        return (DeviceEntry(id: id, name: name, created: Timestamp(milliseconds: created)), pair)
    }

    /// As somebody may have typed it.
    private static func normalized(_ code: String) -> [UInt8] {
        code.utf8.prefix(100).compactMap { byte in
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: " "): nil
            case UInt8(ascii: "o"), UInt8(ascii: "O"): UInt8(ascii: "0")
            case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"): UInt8(ascii: "1")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
            default: byte
            }
        }
    }
}
