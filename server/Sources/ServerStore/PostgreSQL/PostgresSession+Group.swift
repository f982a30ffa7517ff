internal import Base
internal import EnvelopeReader

extension PostgresSession {
    func store(_ group: [Submission]) throws(StoreError) -> [Receipt] {
        var trouble = Trouble()
        do throws(Refusal) {
            return try store(PostgresGroup(group), &trouble)
        } catch {
            if let failure = trouble.failure { throw failure }
            if !trouble.ended.isEmpty { return try store(group, without: trouble.ended) }
            // 23514: no partition for a row; somebody has dropped or detached one that was there.
            guard error.sqlState == "23514" else { throw error.error }
            throw StoreError(.missing, operation: error.operation, message: error.error.message)
        }
    }

    /// What a group has failed with beside an error of the database.
    private struct Trouble {
        /// What alerts have failed with.
        var failure: StoreError?
        /// Places of the batches whose token has ended.
        var ended: Set<Int> = []
    }

    /// - Parameter ended: places of those whose token has ended: nothing of them is stored.
    private func store(_ group: [Submission], without ended: Set<Int>) throws(StoreError) -> [Receipt] {
        let others = group.indices.filter { !ended.contains($0) }
        var refused = Receipt()
        refused.isRefused = true
        var receipts = [Receipt](repeating: refused, count: group.count)
        guard !others.isEmpty else { return receipts }
        for (place, receipt) in zip(others, try store(others.map { group[$0] })) { receipts[place] = receipt }
        return receipts
    }

    func unready(_ group: [Submission]) throws(StoreError) -> [Int] {
        do throws(Refusal) {
            return try partitions.unready(group, in: self)
        } catch {
            throw error.error
        }
    }

    func makeRoom(for group: [Submission]) throws(StoreError) -> StorageRoom {
        do throws(Refusal) {
            let periods = try partitions.periods(of: group, in: self)
            let isMore = try partitions.make(periods, for: group.first?.device, in: self)
            let waiting = Set(try partitions.unready(group, in: self))
            return StorageRoom(isWhole: group.indices.map { !waiting.contains($0) }, isMore: isMore)
        } catch {
            throw error.error
        }
    }

    func doubtRoom() {
        partitions.forget()
    }

    /// Revocations wait for it, and it for them; see `Revocations`.
    private static let beginning = "BEGIN; SELECT pg_advisory_xact_lock_shared(\(lockOfUploads))"

    private func store(_ group: PostgresGroup, _ trouble: inout Trouble) throws(Refusal) -> [Receipt] {
        do throws(Refusal) {
            return try atomically(Self.beginning) { () throws(Refusal) in
                let fresh = try begin(group)
                try copy(group.locations(of: fresh.places), into: "locations")
                try copy(group.events(of: fresh.places), into: "events")
                try copy(group.vehicleEvents(of: fresh.places), into: "vehicle_events")
                try noteAhead(group.ahead(of: fresh.places))
                var receipts = try receipts(of: group, fresh, inserted: nil, &trouble)
                try copy(group.outbox(fresh, inserted: nil))
                try noteAlerts(of: group, group.newRows(fresh, inserted: nil), in: &receipts, &trouble)
                return receipts
            }
        } catch {
            // 23505: a row is there already. That is rare, and COPY cannot pass over it. Citus has XX000 for all that a worker says
            // to COPY; the second way says what it is.
            guard error.sqlState == "23505" || error.sqlState == "XX000" else { throw error }
        }
        return try atomically(Self.beginning) { () throws(Refusal) in
            let fresh = try begin(group)
            try copy(group.locations(of: fresh.places), into: "staged_locations")
            try copy(group.events(of: fresh.places), into: "staged_events")
            try copy(group.vehicleEvents(of: fresh.places), into: "staged_vehicle_events")
            var inserted: Set<RowKey> = []
            for table in ["locations", "events", "vehicle_events"] {
                let rows = try query(
                    """
                    INSERT INTO \(table) SELECT * FROM staged_\(table) ORDER BY device, time, id
                    ON CONFLICT DO NOTHING RETURNING device, time, id
                    """, [])
                for row in rows {
                    guard let device = row[0].integer, let time = row[1].integer, let id = row[2].id else {
                        continue
                    }
                    inserted.insert(RowKey(device: device, time: time, id: id))
                }
            }
            try noteAhead(group.ahead(of: fresh.places))
            var receipts = try receipts(of: group, fresh, inserted: inserted, &trouble)
            try copy(group.outbox(fresh, inserted: inserted))
            try noteAlerts(of: group, group.newRows(fresh, inserted: inserted), in: &receipts, &trouble)
            return receipts
        }
    }

    /// What is to be forwarded: one target after the other, so that the bodies are in memory once more and not as often as there are
    /// targets.
    private func copy(_ rows: [(submission: Submission, row: Outbox.Row)]) throws(Refusal) {
        let targets = Set(rows.flatMap { $0.submission.forwarding?.targets ?? [] })
        for target in targets.sorted() {
            var buffer = CopyBuffer(rows: rows.count)
            for (submission, row) in rows {
                guard let forwarding = submission.forwarding, forwarding.targets.contains(target) else {
                    continue
                }
                buffer.begin(columns: 8)
                buffer.put(submission.device)
                buffer.put(target)
                buffer.put(row.id)
                buffer.put(submission.age.milliseconds)
                buffer.put(Int64(row.rows))
                buffer.put(Int64(row.body.count))
                buffer.put(Int64(forwarding.isPacked ? 1 : 0))
                buffer.put(row.body)
            }
            buffer.finish()
            try copy(
                "COPY outbox(device, target, id, received, rows, size, packed, body) FROM STDIN (FORMAT binary)",
                buffer.bytes)
        }
    }

    private func noteAlerts(
        of group: PostgresGroup, _ rows: [NewRows], in receipts: inout [Receipt], _ trouble: inout Trouble
    ) throws(Refusal) {
        guard !rows.isEmpty else { return }
        do throws(StoreError) {
            let told = try AlertFinder.note(rows, in: self)
            for (place, submission) in group.submissions.enumerated() where told.contains(submission.device) {
                receipts[place].hasAlerts = true
            }
        } catch {
            trouble.failure = error
            throw Refusal(operation: error.operation, sqlState: "", message: error.message, isLost: !isUsable)
        }
    }

    /// What comes before the rows.
    ///
    /// - Returns: the batches that are to be stored.
    private func begin(_ group: PostgresGroup) throws(Refusal) -> PostgresGroup.Fresh {
        try noteTokens(group.newTokens)
        let fresh = try insertBatches(group)
        try noteResults(group)
        let extras = group.extras(of: fresh.places)
        if !extras.isEmpty {
            _ = try query(
                """
                INSERT INTO extras(device, digest, text, newest) SELECT * FROM unnest($1, $2, $3, $4)
                ON CONFLICT (device, digest) DO UPDATE SET newest = excluded.newest
                WHERE excluded.newest > extras.newest
                """,
                with: [
                    .array(.int8, extras.map { .integer($0.device) }),
                    .array(.int8, extras.map { .integer($0.digest) }),
                    .array(.text, extras.map { .text(String(decoding: $0.text, as: UTF8.self)) }),
                    .array(.int8, extras.map { .integer($0.newestDay) }),
                ])
        }
        return fresh
    }

    /// - Parameter tokens: by device, so that two servers never wait for each other.
    private func noteTokens(_ tokens: [Submission]) throws(Refusal) {
        for submission in tokens {
            guard let token = submission.newToken else { continue }
            try TokenPairs.arrive(token, of: submission.device, now: submission.wall) {
                (sql, values) throws(Refusal) in try query(sql, values)
            }
        }
    }

    /// Which batches are new, and when the devices were here: one statement, since each costs a way to the database and back.
    /// PostgreSQL carries out the second part, of which nothing is asked, when the first is complete.
    private func insertBatches(_ group: PostgresGroup) throws(Refusal) -> PostgresGroup.Fresh {
        let (firsts, presences) = (group.firsts, group.presences)
        guard !firsts.isEmpty else {
            if !presences.isEmpty { _ = try query(Self.presence(from: 1), with: Self.presence(presences)) }
            return group.fresh(inserted: [], known: [:])
        }
        let batches = firsts.map { group.submission($0) }
        guard !isDistributed else {
            let inserted = try distributeBatches(zip(batches, firsts.map { group.digests[$0] }))
            if !presences.isEmpty { _ = try query(Self.presence(from: 1), with: Self.presence(presences)) }
            return try fresh(group, batches, inserted)
        }
        let seen = presences.isEmpty ? "" : "WITH seen AS (\(Self.presence(from: 5)))"
        let rows = try query(
            """
            \(seen)
            INSERT INTO batches(device, id, received, digest) SELECT * FROM unnest($1, $2, $3, $4)
            ON CONFLICT DO NOTHING RETURNING device, id
            """,
            with: [
                .array(.int8, batches.map { .integer($0.device) }),
                .array(.uuid, batches.map { .id($0.batch.id) }),
                .array(.int8, batches.map { .integer($0.received.milliseconds) }),
                .array(.int8, firsts.map { .optional(group.digests[$0]) }),
            ] + (presences.isEmpty ? [] : Self.presence(presences)))
        return try fresh(group, batches, Set(rows.compactMap { PostgresGroup.BatchKey($0) }))
    }

    /// Citus hands each row of VALUES to its worker; those of a SELECT it would write to files first, one for each shard.
    private func distributeBatches(
        _ batches: some Sequence<(Submission, Int64?)>
    ) throws(Refusal) -> Set<PostgresGroup.BatchKey> {
        var values: [Cell] = []
        for (submission, digest) in batches {
            values += [
                .integer(submission.device), .id(submission.batch.id),
                .integer(submission.received.milliseconds), .optional(digest),
            ]
        }
        let rows = stride(from: 1, through: values.count, by: 4).map {
            "($\($0), $\($0 + 1), $\($0 + 2), $\($0 + 3))"
        }
        return Set(
            try queryOnce(
                """
                INSERT INTO batches(device, id, received, digest) VALUES \(rows.joined(separator: ", "))
                ON CONFLICT DO NOTHING RETURNING device, id
                """, values
            ).compactMap { PostgresGroup.BatchKey($0) })
    }

    private func fresh(
        _ group: PostgresGroup, _ batches: [Submission], _ inserted: Set<PostgresGroup.BatchKey>
    ) throws(Refusal) -> PostgresGroup.Fresh {
        let others = batches.filter { !inserted.contains(PostgresGroup.BatchKey($0)) }
        return group.fresh(inserted: inserted, known: others.isEmpty ? [:] : try digests(of: others))
    }

    /// Digests of batches that have been seen; none for those of earlier versions.
    private func digests(
        of batches: [Submission]
    ) throws(Refusal) -> [PostgresGroup.BatchKey: Int64] {
        let rows = try query(
            """
            SELECT b.device, b.id, b.digest FROM unnest($1, $2) AS k(device, id)
                JOIN batches b ON b.device = k.device AND b.id = k.id WHERE b.digest IS NOT NULL
            """,
            with: [
                .array(.int8, batches.map { .integer($0.device) }),
                .array(.uuid, batches.map { .id($0.batch.id) }),
            ])
        var digests: [PostgresGroup.BatchKey: Int64] = [:]
        for row in rows {
            guard let key = PostgresGroup.BatchKey(row), let digest = row[2].integer else { continue }
            digests[key] = digest
        }
        return digests
    }

    /// When devices were here, and what they said of themselves.
    ///
    /// - Parameter first: the number of its first parameter, of eight.
    private static func presence(from first: Int) -> String {
        let places = (first..<first + 8).map { "$\($0)" }.joined(separator: ", ")
        return """
            INSERT INTO presence(device, seen, install_id, platform, version, model, status, status_time, writer)
            SELECT *, 3 FROM unnest(\(places))
            ON CONFLICT (device) DO UPDATE SET
                seen = excluded.seen, install_id = excluded.install_id,
                platform = excluded.platform, version = excluded.version, model = excluded.model,
                status = coalesce(excluded.status, presence.status),
                status_time = coalesce(excluded.status_time, presence.status_time)
            """
    }

    /// - Parameter submissions: by device, each device once.
    private static func presence(_ submissions: [Submission]) -> [PostgresValue] {
        let statuses = submissions.map { submission in
            submission.batch.remarks.status.map { String(decoding: $0, as: UTF8.self) }
        }
        return [
            .array(.int8, submissions.map { .integer($0.device) }),
            .array(.int8, submissions.map { .integer($0.wall.milliseconds) }),
            .array(.uuid, submissions.map { $0.batch.device.installID.map { .id($0) } ?? .null }),
            .array(.text, submissions.map { .text($0.batch.device.platform) }),
            .array(.text, submissions.map { .text($0.batch.device.version) }),
            .array(.text, submissions.map { .optional($0.batch.device.model) }),
            .array(.text, statuses.map { .optional($0) }),
            .array(
                .int8,
                zip(submissions, statuses).map { submission, status in
                    .optional(status == nil ? nil : submission.wall.milliseconds)
                }),
        ]
    }

    private func noteResults(_ group: PostgresGroup) throws(Refusal) {
        guard !group.results(of: group.places).isEmpty else { return }
        let known = Installations.known(
            try query(
                "SELECT \(Installations.columns) FROM installations WHERE device = ANY($1)",
                with: [.array(.int8, group.devices.map { .integer($0) })]))
        let judgements = group.judgements(known, current: try current(group, known))
        // What another says it has done, it was not told to do.
        let results = group.results(of: group.places.filter { judgements[$0].standing != .other })
        guard !results.isEmpty else { return }
        // Those that wait are locked by key: two servers never wait for each other.
        _ = try query(
            """
            UPDATE commands SET finished = r.finished, result = r.result FROM (
                SELECT c.device, c.number, k.finished, k.result
                FROM unnest($1, $2, $3, $4) AS k(device, number, finished, result)
                    JOIN commands c ON c.device = k.device AND c.number = k.number AND c.finished IS NULL
                ORDER BY c.device, c.number FOR UPDATE OF c) AS r
            WHERE commands.device = r.device AND commands.number = r.number
            """,
            with: [
                .array(.int8, results.map { .integer($0.device) }),
                .array(.int8, results.map { .integer($0.number) }),
                .array(.int8, results.map { .integer($0.submission.received.milliseconds) }),
                .array(.text, results.map { .text(String(decoding: $0.result.object, as: UTF8.self)) }),
            ])
    }

    /// - Returns: places of the batches that came with a token that is still their device's, of devices that are not bound.
    private func current(
        _ group: PostgresGroup, _ known: [Int64: Installations.Known]
    ) throws(Refusal) -> Set<Int> {
        let (shown, others) = group.unbound(known)
        guard !shown.isEmpty else { return Set(others) }
        let rows = try query(
            """
            SELECT k.place FROM unnest($1, $2, $3) AS k(place, device, hash)
                JOIN tokens t ON t.device = k.device AND t.hash = k.hash
            """,
            with: [
                .array(.int8, shown.map { .integer(Int64($0)) }),
                .array(.int8, shown.map { .integer(group.submission($0).device) }),
                .array(.bytea, shown.map { .optional(group.submission($0).token) }),
            ])
        return Set(others + rows.compactMap { $0[0].integer.map { Int($0) } })
    }

    private func receipts(
        of group: PostgresGroup, _ fresh: PostgresGroup.Fresh, inserted: Set<RowKey>?,
        _ trouble: inout Trouble
    ) throws(Refusal) -> [Receipt] {
        let (known, waiting, ended) = try knownAndWaiting(group, newest: group.latest(of: fresh.places))
        guard ended.isEmpty else {
            trouble.ended = ended
            throw Refusal(operation: "store", sqlState: "", message: "a token has ended", isLost: false)
        }
        let judgements = try judgeInstallations(of: group, known)
        let obedient = Set(
            group.places.filter { judgements[$0].standing != .other }.map { group.submission($0).device })
        let commands = try offered(waiting.filter { obedient.contains($0.device) }, at: group.received)
        var receipts = group.receipts(fresh, inserted: inserted, commands: commands)
        // By device, as presence has been locked.
        for place in group.places {
            receipts[place].otherInstallation = judgements[place].change?.told
            receipts[place].isOfOther = judgements[place].standing == .other
            if judgements[place].standing == .other { receipts[place].commands = [] }
            let submission = group.submission(place)
            guard judgements[place].standing == .bound, !receipts[place].commands.isEmpty,
                let least = submission.counter
            else { continue }
            let rows = try query(
                """
                UPDATE presence SET counter = greatest(coalesce(counter, 0) + 1, $1) WHERE device = $2
                RETURNING counter
                """, [.integer(least), .integer(submission.device)])
            receipts[place].counter = rows.first?.first?.integer
        }
        return receipts
    }

    /// Which installations the devices of a group are, what they are to do, and whose tokens have ended; where they are now is noted,
    /// and that something was heard of them: one statement, since each costs a way to the database and back. It comes behind the locks
    /// on presence, so that two servers never bind two installations.
    ///
    /// - Parameter newest: by device, each device once.
    private func knownAndWaiting(
        _ group: PostgresGroup, newest: [(device: Int64, row: LocationRow)]
    ) throws(Refusal) -> (known: [Int64: Installations.Known], waiting: [WaitingCommand], ended: Set<Int>) {
        let devices = group.devices
        let rows = try query(
            """
            WITH changed AS (INSERT INTO changes(devices) VALUES ($4))\(
                newest.isEmpty ? "" : ", newest AS (\(Self.latest(from: 5)))")
            SELECT device, number, name, arguments, expires, offered, NULL::uuid AS id, NULL::bigint AS state,
                NULL::bigint AS revocation
            FROM (\(WaitingCommand.query("device = ANY($1)"))) AS waiting
            UNION ALL
            SELECT device, NULL, NULL, NULL, NULL, NULL, id, state, NULL FROM installations WHERE device = ANY($1)
            UNION ALL
            SELECT device, NULL, NULL, NULL, NULL, NULL, NULL, NULL, number FROM revocations WHERE device = ANY($1)
            """,
            with: [
                .array(.int8, devices.map { .integer($0) }), .cell(.integer(group.age.milliseconds)),
                .cell(.integer(WaitingCommand.last(group.latest))), .cell(.text(Changes.text(devices))),
            ] + (newest.isEmpty ? [] : Self.latest(newest)))
        let waiting = rows.compactMap { WaitingCommand($0) }
        return (
            Installations.known(rows.map { [$0[0], $0[6], $0[7]] }),
            waiting.sorted { ($0.device, $0.number) < ($1.device, $1.number) },
            group.ended(
                by: rows.compactMap { row -> (device: Int64, number: Int64)? in
                    guard let device = row[0].integer, let number = row[8].integer else { return nil }
                    return (device, number)
                })
        )
    }

    private func judgeInstallations(
        of group: PostgresGroup, _ known: [Int64: Installations.Known]
    ) throws(Refusal) -> [(standing: Installations.Standing, change: Installations.Change?)] {
        let judgements = group.judgements(known, current: try current(group, known))
        let changed = group.places.filter { judgements[$0].change != nil }
        try bind(changed.filter { judgements[$0].change?.told == nil }.map { group.submission($0) })
        for place in changed {
            guard let change = judgements[place].change, change.told != nil else { continue }
            let submission = group.submission(place)
            try Installations.write(change, of: submission.device, now: submission.wall) {
                (sql, values) throws(Refusal) in try query(sql, values)
            }
        }
        return judgements
    }

    /// Binds devices to the installations that upload: of a new fleet, all at once.
    ///
    /// - Parameter submissions: by device, each device once.
    private func bind(_ submissions: [Submission]) throws(Refusal) {
        guard !submissions.isEmpty else { return }
        _ = try query(
            """
            INSERT INTO installations(device, id, state, since)
            SELECT k.device, k.id, $4, k.since FROM unnest($1, $2, $3) AS k(device, id, since)
            ON CONFLICT (device, id) DO UPDATE SET state = excluded.state, since = excluded.since
            """,
            with: [
                .array(.int8, submissions.map { .integer($0.device) }),
                .array(.uuid, submissions.map { $0.batch.device.installID.map { .id($0) } ?? .null }),
                .array(.int8, submissions.map { .integer($0.wall.milliseconds) }),
                .cell(.integer(Installations.State.bound.rawValue)),
            ])
    }

    /// Commands that go with the answers, of each device as many as fit, which are noted as offered.
    ///
    /// - Parameter waiting: by device and number.
    private func offered(
        _ waiting: [WaitingCommand], at now: Timestamp
    ) throws(Refusal) -> [Int64: [WaitingCommand]] {
        let commands = Dictionary(grouping: waiting, by: \.device).mapValues(\.prefixThatFits)
        for (device, list) in commands.sorted(by: { $0.key < $1.key }) {
            for command in list where !command.wasOffered {
                _ = try query(
                    "UPDATE commands SET offered = $1 WHERE device = $2 AND number = $3",
                    [
                        .integer(now.milliseconds), .integer(device), .integer(command.number),
                    ])
            }
        }
        return commands
    }

    /// Where devices are now.
    ///
    /// - Parameter first: the number of its first parameter, of ten.
    private static func latest(from first: Int) -> String {
        let places = (first..<first + 10).map { "$\($0)" }.joined(separator: ", ")
        return """
            INSERT INTO latest SELECT * FROM unnest(\(places))
            ON CONFLICT (device) DO UPDATE SET
                time = excluded.time, id = excluded.id, latitude = excluded.latitude,
                longitude = excluded.longitude, accuracy = excluded.accuracy, speed = excluded.speed,
                bearing = excluded.bearing, altitude = excluded.altitude, codes = excluded.codes
            WHERE excluded.time > latest.time
            """
    }

    /// - Parameter rows: by device, each device once.
    private static func latest(_ rows: [(device: Int64, row: LocationRow)]) -> [PostgresValue] {
        func column(_ value: (LocationRow) -> Double?) -> PostgresValue {
            .array(.float8, rows.map { .optional(value($0.row)) })
        }
        return [
            .array(.int8, rows.map { .integer($0.device) }),
            .array(.int8, rows.map { .integer($0.row.time.milliseconds) }),
            .array(.uuid, rows.map { .id($0.row.id) }), column { $0.latitude }, column { $0.longitude },
            column { $0.accuracy }, column { $0.speed }, column { $0.bearing }, column { $0.altitude },
            .array(.int8, rows.map { .integer(Int64($0.row.codes.rawValue)) }),
        ]
    }

    /// - Parameter submissions: by device.
    private func noteAhead(_ submissions: [Submission]) throws(Refusal) {
        for submission in submissions {
            if let ahead = submission.ahead { _ = try query(Submission.noteAhead, ahead) }
        }
    }

    private func copy(_ rows: [PostgresGroup.Row<LocationRow>], into table: String) throws(Refusal) {
        guard !rows.isEmpty else { return }
        var buffer = CopyBuffer(rows: rows.count)
        for row in rows {
            let location = row.content
            buffer.begin(columns: 12)
            buffer.put(row.device)
            buffer.put(location.time.milliseconds)
            buffer.put(location.id)
            buffer.put(row.session)
            buffer.put(location.latitude)
            buffer.put(location.longitude)
            for value in [location.accuracy, location.speed, location.bearing, location.altitude] {
                buffer.put(value)
            }
            buffer.put(location.codes.rawValue)
            buffer.put(row.extras)
        }
        buffer.finish()
        try copy("COPY \(table) FROM STDIN (FORMAT binary)", buffer.bytes)
    }

    private func copy(_ rows: [PostgresGroup.Row<EventRow>], into table: String) throws(Refusal) {
        guard !rows.isEmpty else { return }
        var buffer = CopyBuffer(rows: rows.count)
        for row in rows {
            buffer.begin(columns: 7)
            buffer.put(row.device)
            buffer.put(row.content.time.milliseconds)
            buffer.put(row.content.id)
            buffer.put(row.session)
            buffer.put(row.content.kind.rawValue)
            buffer.put(row.content.geofence)
            buffer.put(row.extras)
        }
        buffer.finish()
        try copy("COPY \(table) FROM STDIN (FORMAT binary)", buffer.bytes)
    }

    private func copy(_ rows: [PostgresGroup.Row<VehicleEvent>], into table: String) throws(Refusal) {
        guard !rows.isEmpty else { return }
        var buffer = CopyBuffer(rows: rows.count)
        for row in rows {
            buffer.begin(columns: 6)
            buffer.put(row.device)
            buffer.put(row.content.time.milliseconds)
            buffer.put(row.content.id)
            buffer.put(row.session)
            buffer.put(row.content.kind)
            buffer.put(String(decoding: row.content.object, as: UTF8.self))
        }
        buffer.finish()
        try copy("COPY \(table) FROM STDIN (FORMAT binary)", buffer.bytes)
    }
}
