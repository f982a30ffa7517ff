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
    /// What the server asks to be allowed by them.
    package var rights: CommandRights
}

/// What a server asks to be allowed by vehicles that enrol with a code. Each vehicle gives of it what a person there gives, and
/// without a wish its usual.
package struct CommandRights: Equatable, Sendable {
    /// Names of commands; nil: no wish.
    package var allow: [String]?
    /// Names of settings that commands may change; nil: no wish.
    package var settings: [String]?

    package init(allow: [String]? = nil, settings: [String]? = nil) {
        (self.allow, self.settings) = (allow, settings)
    }

    /// The settings that a vehicle lets a server change that it has enrolled with.
    package static let tunable = ["tracking.interval_seconds", "sync.interval_seconds"]

    /// What two columns of the claim say.
    fileprivate init(_ allow: Cell, _ settings: Cell) {
        self.init(allow: Self.names(allow), settings: Self.names(settings))
    }

    fileprivate var cells: [Cell] {
        [allow, settings].map { .optional($0?.joined(separator: " ")) }
    }

    private static func names(_ cell: Cell) -> [String]? {
        cell.text.map { $0.split(separator: " ").map(String.init) }
    }
}

/// What a vehicle shows when it enrols, so that nobody else can ask in its place: 128 random bits.
package struct EnrolmentNonce: Equatable, Sendable {
    /// What is stored of it. Random bits need no salt and no slow hash: nobody can try them.
    let hash: [UInt8]

    /// - Parameter text: 32 hexadecimal digits.
    /// - Returns: nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        hash = Digest.sha256(Array(text.lowercased().utf8))
    }

    /// Whether the hash is this nonce's, in a time that does not tell how much of it is.
    func matches(_ stored: [UInt8]) -> Bool {
        stored.count == hash.count && CRYPTO_memcmp(stored, hash, hash.count) == 0
    }
}

/// Codes for enrolment, in the database, as hashes alone. Each function is for a thread of the store.
package enum Claims {
    /// Characters that nobody mistakes for others (Crockford's Base32).
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// 100 random bits: nobody can try them.
    private static let length = 20

    /// Makes a code, which is shown only once, in groups of five.
    package static func add(
        uses: Int64, lifetime: Double, rights: CommandRights = CommandRights(), now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> (ClaimEntry, code: String) {
        let code = Secret.random(length).map { alphabet[Int($0 & 31)] }
        let expires = now.advanced(bySeconds: lifetime)
        let id = try session.transaction { () throws(StoreError) in
            let id = try Numbers.next(.claim, in: session)
            try session.run(
                """
                INSERT INTO claims(id, hash, created, expires, uses, allow, settings)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                .integer(id), .bytes(Digest.sha256(code)), .integer(now.milliseconds),
                .integer(expires.milliseconds), .integer(uses), rights.cells[0], rights.cells[1])
            return id
        }
        let groups = stride(from: 0, to: length, by: 5).map {
            String(decoding: code[$0..<$0 + 5], as: UTF8.self)
        }
        return (
            ClaimEntry(id: id, created: now, expires: expires, uses: uses, rights: rights),
            groups.joined(separator: "-")
        )
    }

    /// All that are left, by number.
    package static func all(in session: any Session) throws(StoreError) -> [ClaimEntry] {
        try session.run(
            "SELECT id, created, expires, uses, allow, settings FROM claims ORDER BY id"
        ).compactMap { row in
            guard let id = row[0].integer, let created = row[1].integer, let expires = row[2].integer,
                let uses = row[3].integer
            else { return nil }
            return ClaimEntry(
                id: id, created: Timestamp(milliseconds: created), expires: Timestamp(milliseconds: expires),
                uses: uses, rights: CommandRights(row[4], row[5]))
        }
    }

    /// - Returns: false when there is no such code.
    package static func remove(_ id: Int64, in session: any Session) throws(StoreError) -> Bool {
        try !session.run("DELETE FROM claims WHERE id = $1 RETURNING id", .integer(id)).isEmpty
    }

    /// Makes a device for whoever knows a code.
    ///
    /// The answer may be lost on its way: as long as none of the device's tokens has been used, the same code, name and nonce
    /// buy new ones, cost no further use, and do so when the code has expired or is used up since. Without a nonce the code
    /// must still be good, and whoever knows it and the name is taken for the same vehicle.
    ///
    /// - Parameter nonce: what the vehicle alone knows; nil when it sent none.
    /// - Returns: the device, its tokens, and what the code asks to be allowed; nil when the code is none, has expired or is
    ///   used up.
    /// - Throws: `.conflict` when the name is taken by another device, or a token of this one has been used.
    package static func enroll(
        _ name: String, code: String, nonce: EnrolmentNonce? = nil, lifetime: Double, now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair, CommandRights)? {
        try session.transaction { () throws(StoreError) in
            // The lock on the row makes two enrolments with one code wait for each other.
            let rows = try session.run(
                "UPDATE claims SET uses = uses WHERE hash = $1 RETURNING id, uses, expires, allow, settings",
                .bytes(Digest.sha256(normalized(code))))
            guard let row = rows.first, let id = row[0].integer, let uses = row[1].integer,
                let expires = row[2].integer
            else { return nil }
            let rights = CommandRights(row[3], row[4])
            let hasExpired = now.milliseconds >= expires
            if hasExpired, nonce == nil { return nil }
            if let (entry, pair) = try repeated(
                name, claim: id, nonce: nonce, lifetime: lifetime, now: now, in: session)
            {
                return (entry, pair, rights)
            }
            guard !hasExpired, uses > 0 else { return nil }
            let (entry, pair) = try Devices.insert(
                name, claim: id, nonce: nonce, lifetime: lifetime, now: now, in: session)
            try session.run("UPDATE claims SET uses = uses - 1 WHERE id = $1", .integer(id))
            return (entry, pair, rights)
        }
    }

    /// - Returns: nil when this vehicle has not enrolled before.
    private static func repeated(
        _ name: String, claim: Int64, nonce: EnrolmentNonce?, lifetime: Double, now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair)? {
        // The lock on the row: what its first upload does at this moment is seen, before anything ends.
        let rows = try session.run(
            """
            UPDATE devices SET revoked = revoked WHERE name = $1 AND claim = $2 AND revoked IS NULL
            RETURNING id, created, enrolment
            """, .text(name), .integer(claim))
        guard let row = rows.first, let id = row[0].integer, let created = row[1].integer,
            isSame(nonce, row[2].bytes)
        else { return nil }
        let used = try session.run(
            "SELECT count(*) FROM tokens WHERE device = $1 AND used IS NOT NULL", .integer(id))
        guard used.first?.first?.integer == 0 else {
            throw StoreError(
                .conflict, operation: "enrol",
                message: "the device '\(name)' has enrolled, and has used its tokens")
        }
        try Devices.forget(id, in: session)
        let pair = try Devices.issue(to: id, pair: 1, parent: nil, lifetime: lifetime, now: now, in: session)
        return (DeviceEntry(id: id, name: name, created: Timestamp(milliseconds: created)), pair)
    }

    private static func isSame(_ nonce: EnrolmentNonce?, _ known: [UInt8]?) -> Bool {
        guard let nonce, let known else { return nonce == nil && known == nil }
        return nonce.matches(known)
    }

    /// The code without what people add or confuse when they type it.
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
