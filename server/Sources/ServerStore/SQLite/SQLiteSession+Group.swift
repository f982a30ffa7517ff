internal import Base
internal import EnvelopeReader
internal import SQLite

extension SQLiteSession {
    func store(_ group: [Submission]) throws(StoreError) -> [Receipt] {
        // What is known to be lost gets no more.
        try confirm()
        let receipts = try transaction { () throws(StoreError) in
            var receipts: [Receipt] = []
            var found: [NewRows] = []
            do throws(SQLiteError) {
                for submission in group { receipts.append(try insert(submission, &found)) }
                try noteChanges(by: zip(group, receipts).filter { !$0.1.isRefused }.map(\.0.device))
            } catch {
                throw failure(error)
            }
            let told = try AlertFinder.note(found, in: self)
            for (place, submission) in group.enumerated() where told.contains(submission.device) {
                receipts[place].hasAlerts = true
            }
            return receipts
        }
        try confirm()
        return receipts
    }

    /// Tables have room for everything.
    func unready(_ group: [Submission]) -> [Int] { [] }

    func makeRoom(for group: [Submission]) -> StorageRoom {
        StorageRoom(isWhole: group.map { _ in true }, isMore: false)
    }

    func doubtRoom() {}

    private func noteChanges(by devices: [Int64]) throws(SQLiteError) {
        guard !devices.isEmpty else { return }
        _ = try change(
            "INSERT INTO changes(devices) VALUES (?1)", [.text(Changes.text(Set(devices).sorted()))])
    }

    /// - Parameter found: gets what was new, where there are rules for it.
    private func insert(
        _ submission: Submission, _ found: inout [NewRows]
    ) throws(SQLiteError) -> Receipt {
        if let known = submission.nextRevocation, try hasEnded(submission.device, since: known) {
            var receipt = Receipt(stored: 0)
            receipt.isRefused = true
            return receipt
        }
        if let token = submission.newToken {
            try TokenPairs.arrive(token, of: submission.device, now: submission.wall) {
                (sql, values) throws(SQLiteError) in try rows(sql, values)
            }
        }
        try notePresence(of: submission)
        let (standing, other) = try judgeInstallation(of: submission)
        // What another says it has done, it was not told to do.
        if standing != .other { try noteResults(of: submission) }
        var new =
            submission.rules == nil && submission.forwarding == nil
            ? nil : NewRows(submission: submission)
        var receipt = try insertRows(of: submission, &new)
        if let new {
            if submission.rules != nil { found.append(new) }
            try addToOutbox(
                new, isWhole: receipt.stored == submission.rows,
                isNewID: submission.keepsID && !receipt.hasOtherRows)
        }
        receipt.otherInstallation = other
        receipt.isOfOther = standing == .other
        guard standing != .other else { return receipt }
        receipt.commands = try waitingCommands(for: submission)
        if standing == .bound, !receipt.commands.isEmpty, let least = submission.counter {
            receipt.counter = try rows(
                "UPDATE presence SET counter = max(coalesce(counter, 0) + 1, $1) WHERE device = $2 RETURNING counter",
                [.integer(least), .integer(submission.device)]
            ).first?.first?.integer
        }
        return receipt
    }

    /// - Parameter isWhole: all of its rows are new: none has to be looked for.
    private func addToOutbox(_ new: NewRows, isWhole: Bool, isNewID: Bool) throws(SQLiteError) {
        let submission = new.submission
        guard let forwarding = submission.forwarding else { return }
        var left = isWhole ? [] : new.keys
        let row = Outbox.row(of: submission, isNewID: isNewID) { time, id in
            isWhole
                || left.remove(RowKey(device: submission.device, time: time.milliseconds, id: id)) != nil
        }
        guard let row else { return }
        for target in forwarding.targets {
            _ = try change(
                """
                INSERT INTO outbox(device, target, id, received, rows, size, packed, body)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                """,
                [
                    .integer(submission.device), .text(target), .text(row.id),
                    .integer(submission.age.milliseconds), .integer(Int64(row.rows)),
                    .integer(Int64(row.body.count)), .integer(forwarding.isPacked ? 1 : 0), .blob(row.body),
                ])
        }
    }

    private func hasEnded(_ device: Int64, since known: Int64) throws(SQLiteError) -> Bool {
        try !rows(Revocations.ended, [.integer(device), .integer(known)]).isEmpty
    }

    /// - Returns: an installation that is to be told.
    private func judgeInstallation(
        of submission: Submission
    ) throws(SQLiteError) -> (Installations.Standing, UUIDv7?) {
        let rows = try rows(
            "SELECT \(Installations.columns) FROM installations WHERE device = $1",
            [.integer(submission.device)])
        var known = Installations.known(rows)[submission.device] ?? Installations.Known()
        // Looked up only where it matters.
        let isCurrent = if known.bound != nil { true } else { try hasItsToken(submission) }
        let (standing, change) = known.judge(submission, isCurrent: isCurrent)
        guard let change else { return (standing, nil) }
        try Installations.write(change, of: submission.device, now: submission.wall) {
            (sql, values) throws(SQLiteError) in try self.rows(sql, values)
        }
        return (standing, change.told)
    }

    private func hasItsToken(_ submission: Submission) throws(SQLiteError) -> Bool {
        guard let token = submission.token else { return true }
        let rows = try rows(
            "SELECT 1 FROM tokens WHERE device = $1 AND hash = $2",
            [.integer(submission.device), .bytes(token)])
        return !rows.isEmpty
    }

    /// - Parameter new: gets the rows that were new; nil where nobody asks.
    private func insertRows(
        of submission: Submission, _ new: inout NewRows?
    ) throws(SQLiteError) -> Receipt {
        let batch = submission.batch
        let kept = submission.keptRows
        let expired = submission.rows - kept
        guard kept > 0 else { return Receipt(expired: expired) }
        let novelty = try novelty(of: submission)
        guard novelty != .none else { return Receipt(duplicates: kept, expired: expired) }
        let extras = try insertExtras(of: submission)
        var stored = try insertLocations(of: submission, extras: extras, &new)
        for row in batch.events where submission.isKept(row.time) {
            let count = try change(
                "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                [
                    .integer(submission.device), .integer(row.time.milliseconds), .blob(row.id.bytes),
                    .blob(batch.session.bytes), .integer(Int64(row.kind.rawValue)), .text(row.geofence),
                    .optional(extras),
                ])
            stored += count
            if count > 0 { new?.events.append(row) }
        }
        for event in batch.remarks.events where submission.isKept(event.time) {
            let count = try change(
                "INSERT INTO vehicle_events VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                [
                    .integer(submission.device), .integer(event.time.milliseconds), .blob(event.id.bytes),
                    .blob(batch.session.bytes), .text(event.kind),
                    .text(String(decoding: event.object, as: UTF8.self)),
                ])
            stored += count
            if count > 0 { new?.vehicleEvents.append(event) }
        }
        if let newest = submission.newest { try noteLatest(newest, of: submission.device) }
        if let ahead = submission.ahead { _ = try rows(Submission.noteAhead, ahead) }
        var receipt = Receipt(stored: stored, duplicates: kept - stored, expired: expired)
        receipt.hasOtherRows = novelty == .rows
        return receipt
    }

    /// What of a batch has not been seen.
    private enum Novelty {
        case none, rows, id
    }

    private func novelty(of submission: Submission) throws(SQLiteError) -> Novelty {
        guard submission.keepsID else { return .id }
        let digest = submission.rowDigest
        let inserted = try change(
            """
            INSERT INTO batches(device, id, received, digest) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
            """,
            [
                .integer(submission.device), .blob(submission.batch.id.bytes),
                .integer(submission.received.milliseconds), .integer(digest),
            ])
        if inserted == 1 { return .id }
        let known = try rows(
            "SELECT digest FROM batches WHERE device = $1 AND id = $2",
            [.integer(submission.device), .id(submission.batch.id)]
        ).first?.first?.integer
        // Earlier versions kept none.
        return known.map { $0 == digest } ?? true ? .none : .rows
    }

    /// - Returns: how many were new.
    private func insertLocations(
        of submission: Submission, extras: Int64?, _ new: inout NewRows?
    ) throws(SQLiteError) -> Int {
        guard !submission.batch.locations.isEmpty else { return 0 }
        // What all have in common is bound once.
        let insertion = try prepare(
            """
            INSERT INTO locations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            ON CONFLICT DO NOTHING
            """)
        try insertion.statement.bind(.integer(submission.device), 1)
        try insertion.statement.bind(.blob(submission.batch.session.bytes), 4)
        try insertion.statement.bind(.optional(extras), 12)
        var stored = 0
        for row in submission.batch.locations where submission.isKept(row.time) {
            try insertion.statement.bind(.integer(row.time.milliseconds), 2)
            try row.id.withBytes { (bytes) throws(SQLiteError) in
                try insertion.statement.bind(blob: bytes, 3)
            }
            try insertion.statement.bind(.real(row.latitude), 5)
            try insertion.statement.bind(.real(row.longitude), 6)
            try insertion.statement.bind(.optional(row.accuracy), 7)
            try insertion.statement.bind(.optional(row.speed), 8)
            try insertion.statement.bind(.optional(row.bearing), 9)
            try insertion.statement.bind(.optional(row.altitude), 10)
            try insertion.statement.bind(.integer(Int64(row.codes.rawValue)), 11)
            try insertion.statement.run()
            stored += connection.changes
            if connection.changes > 0 { new?.locations.append(row) }
        }
        return stored
    }

    private func insertExtras(of submission: Submission) throws(SQLiteError) -> Int64? {
        guard let extras = submission.batch.extras else { return nil }
        let digest = Digest.short(extras)
        _ = try change(
            """
            INSERT INTO extras(device, digest, text, newest) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (device, digest) DO UPDATE SET newest = excluded.newest WHERE excluded.newest > newest
            """,
            [
                .integer(submission.device), .integer(digest), .text(String(decoding: extras, as: UTF8.self)),
                .integer(submission.newestDay),
            ])
        return digest
    }

    private func notePresence(of submission: Submission) throws(SQLiteError) {
        let facts = submission.batch.device
        guard let installID = facts.installID else { return }
        let status = submission.batch.remarks.status
        _ = try change(
            """
            INSERT INTO presence(device, seen, install_id, platform, version, model, status, status_time)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (device) DO UPDATE SET
                seen = excluded.seen, install_id = excluded.install_id, platform = excluded.platform,
                version = excluded.version, model = excluded.model, status = coalesce(excluded.status, status),
                status_time = coalesce(excluded.status_time, status_time)
            """,
            [
                .integer(submission.device), .integer(submission.wall.milliseconds),
                .blob(installID.bytes), .text(facts.platform), .text(facts.version),
                facts.model.map { .text($0) } ?? .null,
                status.map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null,
                .optional(status == nil ? nil : submission.wall.milliseconds),
            ])
    }

    private func noteResults(of submission: Submission) throws(SQLiteError) {
        var rest = submission.results[...]
        while !rest.isEmpty {
            let size = Self.resultSizes.first { $0 >= rest.count } ?? Self.mostResults
            let some = rest.prefix(size)
            rest = rest.dropFirst(size)
            var values: [Value] = [.integer(submission.received.milliseconds), .integer(submission.device)]
            for (number, result) in some {
                values += [.integer(number), .text(String(decoding: result.object, as: UTF8.self))]
            }
            // No command has the number NULL.
            values += Array(repeating: .null, count: 2 * (size - some.count))
            _ = try change(Self.noteResults(size), values)
        }
    }

    /// Results of one statement: few statements, each of which is prepared once.
    private static let resultSizes = [1, 16, mostResults]
    private static let mostResults = 128

    private static func noteResults(_ count: Int) -> String {
        let rows = (0..<count).map { "(?\(2 * $0 + 3), ?\(2 * $0 + 4))" }.joined(separator: ", ")
        return """
            WITH r(number, result) AS (VALUES \(rows))
            UPDATE commands SET finished = ?1, result = r.result FROM r
            WHERE commands.device = ?2 AND commands.number = r.number AND commands.finished IS NULL
            """
    }

    private func waitingCommands(for submission: Submission) throws(SQLiteError) -> [WaitingCommand] {
        let commands = try rows(
            WaitingCommand.query("device = $1"),
            [
                .integer(submission.device), .integer(submission.age.milliseconds),
                .integer(WaitingCommand.last(submission.latest)),
            ]
        ).compactMap { WaitingCommand($0) }.prefixThatFits
        for command in commands where !command.wasOffered {
            _ = try change(
                "UPDATE commands SET offered = ?1 WHERE device = ?2 AND number = ?3",
                [
                    .integer(submission.received.milliseconds), .integer(submission.device),
                    .integer(command.number),
                ])
        }
        return commands
    }

    private func noteLatest(_ row: LocationRow, of device: Int64) throws(SQLiteError) {
        _ = try change(
            """
            INSERT INTO latest VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (device) DO UPDATE SET
                time = excluded.time, id = excluded.id, latitude = excluded.latitude,
                longitude = excluded.longitude, accuracy = excluded.accuracy, speed = excluded.speed,
                bearing = excluded.bearing, altitude = excluded.altitude, codes = excluded.codes
            WHERE excluded.time > latest.time
            """,
            [
                .integer(device), .integer(row.time.milliseconds), .blob(row.id.bytes), .real(row.latitude),
                .real(row.longitude), .optional(row.accuracy), .optional(row.speed), .optional(row.bearing),
                .optional(row.altitude), .integer(Int64(row.codes.rawValue)),
            ])
    }
}
