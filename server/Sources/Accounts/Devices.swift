package import Base
package import ServerStore

/// A pair of tokens, shown once.
package struct TokenPair: Equatable, Sendable {
    package var access: Secret
    package var refresh: Secret
    /// When the access token expires.
    package var expires: Timestamp
}

/// A device that may upload.
package struct DeviceEntry: Equatable, Sendable {
    package var id: Int64
    package var name: String
    package var created: Timestamp
    /// nil unless it was revoked.
    package var revoked: Timestamp?
}

/// The devices and their tokens, in the database. Each function is for a thread of the store.
package enum Devices {
    /// Characters of a name.
    package static let longestName = 100

    /// - Returns: why it cannot be a new name; nil when it can.
    package static func complaint(aboutName name: String) -> String? {
        let scalars = name.unicodeScalars
        guard !scalars.isEmpty, scalars.count <= longestName else {
            return "a name has 1 to \(longestName) characters"
        }
        guard canBe(name) else { return "a name has no control characters" }
        // Paths, files and XML are made of names.
        guard !scalars.contains(where: { $0 == "/" || $0.properties.isNoncharacterCodePoint }) else {
            return "a name has no / and no code points that are no characters"
        }
        return name == "." || name == ".." ? "a name is not . or .." : nil
    }

    /// Whether anybody can have this name. There may be others than new ones may be: they stay usable.
    package static func canBe(_ name: String) -> Bool {
        let scalars = name.unicodeScalars
        return !scalars.isEmpty && scalars.count <= longestName && hasNoControls(name)
    }

    /// Makes a device and its first pair of tokens.
    ///
    /// - Throws: `.conflict` when the name is taken.
    package static func add(
        _ name: String, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair) {
        try session.transaction { () throws(StoreError) in
            try insert(name, claim: nil, nonce: nil, lifetime: lifetime, now: now, in: session)
        }
    }

    /// Adds a device and its first tokens, within a transaction.
    ///
    /// - Parameters:
    ///   - claim: the code with which it enrolled, by number.
    ///   - nonce: what it showed with that.
    static func insert(
        _ name: String, claim: Int64?, nonce: EnrolmentNonce?, lifetime: Double, now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair) {
        let rows = try session.run(
            """
            INSERT INTO devices(name, created, claim, enrolment) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING RETURNING id
            """,
            .text(name), .integer(now.milliseconds), .optional(claim), nonce.map { .bytes($0.hash) } ?? .null)
        guard let id = rows.first?.first?.integer else {
            throw StoreError(
                .conflict, operation: "add a device", message: "there is already a device '\(name)'")
        }
        let pair = try issue(to: id, pair: 1, parent: nil, lifetime: lifetime, now: now, in: session)
        return (DeviceEntry(id: id, name: name, created: now), pair)
    }

    static func issue(
        to device: Int64, pair number: Int64, parent: [UInt8]?, lifetime: Double, now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> TokenPair {
        let pair = TokenPair(
            access: Secret(.access, of: device), refresh: Secret(.refresh, of: device),
            expires: now.advanced(bySeconds: lifetime))
        for (secret, expires) in [(pair.access, pair.expires), (pair.refresh, nil)] {
            try session.run(
                """
                INSERT INTO tokens(device, hash, kind, created, expires, parent, pair)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                .integer(device), .bytes(secret.hash), .integer(secret.kind.rawValue),
                .integer(now.milliseconds),
                .optional(expires?.milliseconds), parent.map { .bytes($0) } ?? .null, .integer(number))
        }
        return pair
    }

    /// All that is known of the tokens of a device; nil when there is no such device.
    package static func tokens(of device: Int64, in session: any Session) throws(StoreError) -> DeviceTokens?
    {
        let rows = try session.run(
            """
            SELECT t.hash, t.kind, t.pair, t.expires, t.used, t.ended, d.revoked, t.created, \(Revocations.next)
            FROM devices d LEFT JOIN tokens t ON t.device = d.id WHERE d.id = $1
            """, .integer(device))
        guard let revoked = rows.first?[6] else { return nil }
        let records = rows.compactMap { row -> TokenRecord? in
            guard let hash = row[0].bytes, let kind = row[1].integer.flatMap({ Secret.Kind(rawValue: $0) }),
                let pair = row[2].integer
            else { return nil }
            var record = TokenRecord(
                hash: hash, kind: kind, pair: pair,
                expires: row[3].integer.map { Timestamp(milliseconds: $0) },
                used: row[4].integer.map { Timestamp(milliseconds: $0) },
                ended: row[5].integer.map { Timestamp(milliseconds: $0) })
            record.created = row[7].integer.map { Timestamp(milliseconds: $0) }
            return record
        }
        var tokens = DeviceTokens(records: records, isRevoked: revoked != .null)
        tokens.nextRevocation = rows.first?[8].integer ?? 0
        return tokens
    }

    /// Notes that a token has arrived at its device.
    package static func noteUse(
        _ hash: [UInt8], of device: Int64, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        try session.transaction { () throws(StoreError) in
            try TokenPairs.arrive(hash, of: device, now: now, run: runner(session))
        }
    }

    private static func runner(_ session: any Session) -> TokenPairs.Runner<StoreError> {
        { (sql, values) throws(StoreError) in try session.run(sql, values) }
    }

    /// What came of an exchange.
    package enum Exchange: Equatable, Sendable {
        case sold(TokenPair)
        /// The token buys nothing.
        case refused
        /// The token ended a moment ago: two requests have overtaken each other.
        case overtaken
        /// The token ended long ago: it was copied, restored from a backup, or stolen.
        case shownAgain
    }

    /// Exchanges a refresh token for a new pair.
    package static func exchange(
        _ secret: Secret, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Exchange {
        try session.transaction { () throws(StoreError) in
            // A token that is nobody's writes nothing.
            guard let shown = try tokens(of: secret.owner, in: session) else { return .refused }
            guard shown.valid(secret, now: now) != nil else {
                return shown.isRevoked ? .refused : try judge(secret, now: now, in: session)
            }
            // The lock on the row: two exchanges of one device must not both see the same pairs.
            try session.run("UPDATE devices SET revoked = revoked WHERE id = $1", .integer(secret.owner))
            guard let known = try tokens(of: secret.owner, in: session) else { return .refused }
            guard known.valid(secret, now: now) != nil else {
                return known.isRevoked ? .refused : try judge(secret, now: now, in: session)
            }
            try TokenPairs.arrive(secret.hash, of: secret.owner, now: now, run: runner(session))
            guard let tokens = try tokens(of: secret.owner, in: session),
                let rotation = tokens.exchange(secret, now: now)
            else { return .refused }
            if let oldest = rotation.ends {
                try TokenPairs.end(.only(oldest), of: secret.owner, now: now, run: runner(session))
            }
            return .sold(
                try issue(
                    to: secret.owner, pair: rotation.pair, parent: secret.hash, lifetime: lifetime, now: now,
                    in: session))
        }
    }

    /// What is to be said of a refresh token that buys nothing. Nothing ends because of it: who shows it may be anybody.
    private static func judge(
        _ secret: Secret, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Exchange {
        guard secret.kind == .refresh else { return .refused }
        let rows = try session.run(
            "SELECT ended FROM ended_tokens WHERE device = $1 AND hash = $2", .integer(secret.owner),
            .bytes(secret.hash))
        guard let ended = rows.first?.first?.integer else { return .refused }
        // One that a clock which was ahead has ended did so long ago, too.
        guard abs(now.milliseconds - ended) > TokenPairs.grace else { return .overtaken }
        try session.run(
            "UPDATE devices SET shown_again = $1 WHERE id = $2", .integer(now.milliseconds),
            .integer(secret.owner))
        try Changes.note([secret.owner], in: session)
        return .shownAgain
    }

    /// Gives a device new tokens, and ends at once those that it had. An enrolment that is still under way buys nothing more.
    ///
    /// - Returns: nil when there is no such device, or it is revoked.
    package static func renew(
        _ device: Int64, lifetime: Double, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (DeviceEntry, TokenPair)? {
        try session.transaction { () throws(StoreError) in
            try session.excludeUploads()
            // The lock on the row: of two that renew, the second ends what the first has given.
            let rows = try session.run(
                """
                UPDATE devices SET claim = NULL, enrolment = NULL WHERE id = $1 AND revoked IS NULL
                RETURNING name, created
                """,
                .integer(device))
            guard let name = rows.first?[0].text, let created = rows.first?[1].integer else { return nil }
            try forget(device, in: session)
            let pair = try issue(to: device, pair: 1, parent: nil, lifetime: lifetime, now: now, in: session)
            return (DeviceEntry(id: device, name: name, created: Timestamp(milliseconds: created)), pair)
        }
    }

    /// Removes all tokens of a device, and what is known of earlier ones.
    static func forget(_ device: Int64, in session: any Session) throws(StoreError) {
        for table in ["tokens", "ended_tokens"] {
            try session.run("DELETE FROM \(table) WHERE device = $1", .integer(device))
        }
        try session.run("UPDATE devices SET shown_again = NULL WHERE id = $1", .integer(device))
        try Revocations.note(device, in: session)
        // Whoever gets the next ones is the device.
        try Installations.unbind(device, in: session)
        try Changes.note([device], in: session)
    }

    /// Ends a device's tokens, for good; its locations stay.
    ///
    /// - Returns: false when there is no such device.
    package static func revoke(_ device: Int64, now: Timestamp, in session: any Session) throws(StoreError)
        -> Bool
    {
        try session.transaction { () throws(StoreError) in
            try session.excludeUploads()
            let rows = try session.run(
                """
                UPDATE devices SET revoked = coalesce(revoked, $1) WHERE id = $2 AND removed IS NULL RETURNING id
                """, .integer(now.milliseconds), .integer(device))
            guard !rows.isEmpty else { return false }
            try end(device, in: session)
            return true
        }
    }

    /// Ends all that lets anybody act as a device, or see it by a link.
    private static func end(_ device: Int64, in session: any Session) throws(StoreError) {
        try forget(device, in: session)
        try session.run("DELETE FROM links WHERE device = $1", .integer(device))
    }

    /// Deletes a device with all that it has sent: its tokens end at once, and nobody sees it any more; its rows go bit by bit
    /// (`Removal`).
    ///
    /// - Returns: false when there is no such device.
    package static func delete(_ device: Int64, now: Timestamp, in session: any Session) throws(StoreError)
        -> Bool
    {
        try session.transaction { () throws(StoreError) in
            try session.excludeUploads()
            // The lock on the row, before its tokens, as everywhere.
            let rows = try session.run(
                "UPDATE devices SET revoked = revoked WHERE id = $1 AND removed IS NULL RETURNING id",
                .integer(device))
            guard !rows.isEmpty else { return false }
            try end(device, in: session)
            return try Removal.begin(device, now: now, in: session)
        }
    }

    // MARK: Details

    /// What people call a device by. nil: as it is; of all but the name, an empty text: none.
    package struct Details: Equatable, Sendable {
        package var name: String?
        package var plate: String?
        package var note: String?
        /// The group that it is in, by name.
        package var group: String?

        package init(name: String? = nil, plate: String? = nil, note: String? = nil, group: String? = nil) {
            (self.name, self.plate, self.note, self.group) = (name, plate, note, group)
        }
    }

    /// Characters of a plate.
    package static let longestPlate = 20
    /// Characters of a note.
    package static let longestNote = 500

    /// - Returns: whether it can be a plate, or a note, of so many characters.
    package static func canBe(_ text: String, longest: Int) -> Bool {
        text.isEmpty || (text.unicodeScalars.count <= longest && hasNoControls(text))
    }

    private static func hasNoControls(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7F && !(0x80..<0xA0).contains($0.value)
        }
    }

    /// Changes some of them.
    ///
    /// - Returns: false when there is no such device.
    /// - Throws: `.conflict` when the name is taken, or there is no such group.
    package static func change(
        _ device: Int64, to details: Details, in session: any Session
    ) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            // The lock on the row.
            let rows = try session.run(
                "UPDATE devices SET revoked = revoked WHERE id = $1 AND removed IS NULL RETURNING id",
                .integer(device))
            guard !rows.isEmpty else { return false }
            if let name = details.name {
                let others = try session.run(
                    "SELECT 1 FROM devices WHERE name = $1 AND id <> $2", .text(name), .integer(device))
                guard others.isEmpty else {
                    throw StoreError(
                        .conflict, operation: "rename a device",
                        message: "there is already a device '\(name)'")
                }
                try session.run("UPDATE devices SET name = $1 WHERE id = $2", .text(name), .integer(device))
            }
            for (column, text) in [("plate", details.plate), ("note", details.note)] {
                guard let text else { continue }
                try session.run(
                    "UPDATE devices SET \(column) = $1 WHERE id = $2", text.isEmpty ? .null : .text(text),
                    .integer(device))
            }
            if let name = details.group {
                let group = name.isEmpty ? nil : try Groups.number(of: name, in: session)
                try session.run(
                    "UPDATE devices SET fleet_group = $1 WHERE id = $2", .optional(group), .integer(device))
            }
            try FleetRevision.advance(in: session)
            return true
        }
    }
}
