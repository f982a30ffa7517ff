package import Base
internal import Envelope
internal import EnvelopeReader

/// An envelope as it came, on its way to others.
package struct Forwarding: Sendable {
    package var envelope: [UInt8]
    /// Whether it is gzip.
    package var isPacked: Bool
    /// Names of the targets.
    package var targets: [String]

    package init(envelope: [UInt8], isPacked: Bool, targets: [String]) {
        self.envelope = envelope
        self.isPacked = isPacked
        self.targets = targets
    }
}

/// Envelopes that wait to be forwarded, a row for each batch and target: a target that is away keeps its own rows and no others. They
/// are written in the transaction that stores the batch, and removed when the target has acknowledged them. What was forwarded and what
/// was dropped is counted in the transaction that removes it, so that stored = forwarded + waiting + dropped at each moment.
///
/// Each function is for a thread of the store.
package enum Outbox {
    /// What becomes of rows that wait no more.
    package enum Result: String, CaseIterable, Sendable {
        case forwarded
        /// Dropped: older than the target's `max_age_days`.
        case tooOld = "too_old"
        /// Dropped: the target's rows had more than `max_bytes`.
        case tooMany = "too_many"
        /// Dropped with all that a vehicle has sent.
        case deleted
    }

    /// Names a row.
    package struct Key: Equatable, Sendable {
        package var device: Int64
        package var number: Int64

        package init(device: Int64, number: Int64) {
            (self.device, self.number) = (device, number)
        }
    }

    /// An envelope that is to be sent.
    package struct Parcel: Sendable {
        package var key: Key
        /// Id of the batch; with the digest of the rows where the batch had been seen with others.
        package var id: String
        package var deviceName: String
        package var body: [UInt8]
        package var isPacked: Bool
        package var rows: Int64
        /// Times that it alone was refused.
        package var attempts: Int64

        package init(
            key: Key, id: String, deviceName: String, body: [UInt8], isPacked: Bool, rows: Int64,
            attempts: Int64 = 0
        ) {
            self.key = key
            self.id = id
            self.deviceName = deviceName
            self.body = body
            self.isPacked = isPacked
            self.rows = rows
            self.attempts = attempts
        }
    }

    /// Parcels that are read at once, and bytes after which no further one is begun.
    package static let most = 64
    private static let mostBytes: Int64 = 4 << 20
    /// Milliseconds: no back-off reaches further ahead. What is due later is of a clock that was ahead.
    private static let furthest: Int64 = 2 * 3_600_000
    /// Milliseconds: no transaction of ours lasts longer. What was stored before is not held up by those of others.
    static let longestTransaction: Int64 = 300_000
    /// Rows that one step drops.
    private static let step: Int64 = 500

    /// The next ones of a target, in the order in which they were committed.
    ///
    /// - Parameters:
    ///   - now: by the clock.
    ///   - age: by which `received` is.
    package static func next(
        for target: String, now: Timestamp, age: Timestamp, from session: any Session
    ) throws(StoreError) -> [Parcel] {
        try session.run(
            """
            SELECT o.device, o.number, o.id, d.name, o.body, o.packed, o.rows, o.attempts FROM (
                SELECT device, number, CAST(sum(size) OVER (ORDER BY tx, number) AS bigint) - size AS ahead FROM (
                    SELECT device, number, tx, size FROM outbox
                    WHERE target = $1 AND (due <= $2 OR due > $3) AND (\(session.isBehindAll) OR received < $4)
                        AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.device = outbox.device)
                    ORDER BY tx, number LIMIT \(most)) AS next) AS chosen
                JOIN outbox o ON o.device = chosen.device AND o.number = chosen.number
                JOIN devices d ON d.id = o.device
            WHERE chosen.ahead < \(mostBytes) ORDER BY o.tx, o.number
            """, .text(target), .integer(now.milliseconds), .integer(now.milliseconds + furthest),
            .integer(age.milliseconds - longestTransaction)
        ).compactMap { row in
            guard let device = row[0].integer, let number = row[1].integer, let id = row[2].text,
                let body = row[4].bytes, let packed = row[5].integer, let rows = row[6].integer
            else { return nil }
            return Parcel(
                key: Key(device: device, number: number), id: id, deviceName: row[3].text ?? "", body: body,
                isPacked: packed != 0, rows: rows, attempts: row[7].integer ?? 0)
        }
    }

    /// Removes what a target has acknowledged.
    package static func acknowledge(
        _ keys: [Key], of target: String, in session: any Session
    ) throws(StoreError) {
        try session.transaction { () throws(StoreError) in
            try remove(keys, of: target, as: .forwarded, in: session)
        }
    }

    /// A target does not take these, and takes others: they are tried again later, and hold up nothing.
    ///
    /// - Parameter due: by the clock.
    package static func postpone(
        _ parcels: [(key: Key, due: Timestamp, reason: String)], in session: any Session
    ) throws(StoreError) {
        try session.transaction { () throws(StoreError) in
            for parcel in parcels {
                try session.run(
                    """
                    UPDATE outbox SET due = $1, attempts = attempts + 1, reason = $2
                    WHERE device = $3 AND number = $4
                    """, .integer(parcel.due.milliseconds), .text(parcel.reason),
                    .integer(parcel.key.device), .integer(parcel.key.number))
            }
        }
    }

    private static func remove(
        _ keys: [Key], of target: String, as result: Result, in session: any Session
    ) throws(StoreError) {
        var (batches, rows): (Int64, Int64) = (0, 0)
        for key in keys {
            let gone = try session.run(
                "DELETE FROM outbox WHERE device = $1 AND number = $2 RETURNING rows", .integer(key.device),
                .integer(key.number))
            batches += Int64(gone.count)
            rows += gone.first?.first?.integer ?? 0
        }
        // Last, as all rows of a target meet here.
        try count(batches, rows, of: target, as: result, in: session)
    }

    private static func count(
        _ batches: Int64, _ rows: Int64, of target: String, as result: Result, in session: any Session
    ) throws(StoreError) {
        guard batches > 0 else { return }
        try session.run(
            """
            INSERT INTO outbox_counts(target, result, batches, rows) VALUES ($1, $2, $3, $4)
            ON CONFLICT (target, result) DO UPDATE SET
                batches = outbox_counts.batches + excluded.batches, rows = outbox_counts.rows + excluded.rows
            """, .text(target), .text(result.rawValue), .integer(batches), .integer(rows))
    }

    // MARK: Bounds

    /// One step of what is too old, or too much, the oldest first.
    ///
    /// - Parameters:
    ///   - limit: what was received before is dropped; nil: nothing is for its age.
    ///   - excess: bytes that are too many.
    /// - Returns: what was dropped.
    package static func drop(
        of target: String, before limit: Timestamp?, excess: Int64, in session: any Session
    ) throws(StoreError) -> (tooOld: Int, tooMany: Int, bytes: Int64) {
        try session.transaction { () throws(StoreError) in
            var left = excess
            var (old, many): ([Key], [Key]) = ([], [])
            let rows = try session.run(
                """
                SELECT device, number, received, size FROM outbox WHERE target = $1
                ORDER BY tx, number LIMIT \(step) \(session.skippingLocked)
                """, .text(target))
            for row in rows {
                guard let device = row[0].integer, let number = row[1].integer, let size = row[3].integer
                else { continue }
                let key = Key(device: device, number: number)
                if let limit, let received = row[2].integer, received < limit.milliseconds {
                    old.append(key)
                } else if left > 0 {
                    many.append(key)
                } else {
                    continue
                }
                left -= size
            }
            try remove(old, of: target, as: .tooOld, in: session)
            try remove(many, of: target, as: .tooMany, in: session)
            return (old.count, many.count, excess - left)
        }
    }

    /// One step of what a vehicle that is deleted has left; it waits for no lock on rows.
    ///
    /// - Returns: whether it has deleted something.
    static func deleteSome(of device: Int64, in session: any Session) throws(StoreError) -> Bool {
        let gone = try session.run(
            """
            DELETE FROM outbox WHERE (device, number) IN (
                SELECT device, number FROM outbox WHERE device = $1 LIMIT \(step) \(session.skippingLocked))
            RETURNING target, rows
            """, .integer(device))
        let targets = Dictionary(grouping: gone) { $0[0].text ?? "" }
        for (target, rows) in targets.sorted(by: { $0.key < $1.key }) {
            try count(
                Int64(rows.count), rows.reduce(0) { $0 + ($1[1].integer ?? 0) }, of: target, as: .deleted,
                in: session)
        }
        return !gone.isEmpty
    }

    /// One step of what waits for targets that are configured no more, and would wait for ever.
    ///
    /// - Parameters:
    ///   - limit: no server keeps what was received before.
    ///   - names: of targets that are configured here.
    /// - Returns: how many batches were dropped, and of which target; nil: none.
    package static func dropForgotten(
        before limit: Timestamp, but names: [String], in session: any Session
    ) throws(StoreError) -> (target: String, count: Int)? {
        let found = try session.run(
            "SELECT DISTINCT target FROM outbox WHERE received < $1", .integer(limit.milliseconds)
        ).compactMap { $0[0].text }.first { !names.contains($0) }
        guard let found else { return nil }
        let count = try drop(of: found, before: limit, excess: 0, in: session).tooOld
        return count > 0 ? (found, count) : nil
    }

    // MARK: What is told

    /// What doctor and metrics tell of a target.
    package struct Facts: Equatable, Sendable {
        package struct Count: Equatable, Sendable {
            package var batches: Int64
            package var rows: Int64

            package init(batches: Int64 = 0, rows: Int64 = 0) {
                (self.batches, self.rows) = (batches, rows)
            }
        }

        package var waiting = Count()
        /// Bytes that wait.
        package var size: Int64 = 0
        /// When the oldest of them was received.
        package var since: Timestamp?
        /// Batches that the target has refused while it took others, and why, of one.
        package var refused: Int64 = 0
        package var refusal: String?
        package var counts: [Result: Count] = [:]
        /// What keeps the target from taking anything, and since when; nil: nothing is known.
        package var trouble: (reason: String, since: Timestamp)?

        package init() {}

        package static func == (left: Facts, right: Facts) -> Bool {
            left.waiting == right.waiting && left.size == right.size && left.since == right.since
                && left.refused == right.refused && left.counts == right.counts
                && left.trouble?.reason == right.trouble?.reason
        }
    }

    /// By target: those for which something waits, or ever did. It reads all that waits.
    package static func facts(from session: any Session) throws(StoreError) -> [String: Facts] {
        var facts: [String: Facts] = [:]
        for row in try session.run(
            """
            SELECT target, count(*), CAST(sum(rows) AS bigint), CAST(sum(size) AS bigint), min(received),
                CAST(sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END) AS bigint), min(reason) FROM outbox GROUP BY target
            """)
        {
            guard let target = row[0].text else { continue }
            var one = Facts()
            one.waiting = Facts.Count(batches: row[1].integer ?? 0, rows: row[2].integer ?? 0)
            one.size = row[3].integer ?? 0
            one.since = row[4].integer.map { Timestamp(milliseconds: $0) }
            (one.refused, one.refusal) = (row[5].integer ?? 0, row[6].text)
            facts[target] = one
        }
        for row in try session.run("SELECT target, result, batches, rows FROM outbox_counts") {
            guard let target = row[0].text, let result = row[1].text.flatMap({ Result(rawValue: $0) }) else {
                continue
            }
            facts[target, default: Facts()].counts[result] = Facts.Count(
                batches: row[2].integer ?? 0, rows: row[3].integer ?? 0)
        }
        for row in try session.run("SELECT target, since, reason FROM outbox_troubles") {
            guard let target = row[0].text, let since = row[1].integer, let reason = row[2].text else {
                continue
            }
            facts[target, default: Facts()].trouble = (reason, Timestamp(milliseconds: since))
        }
        return facts
    }

    /// What keeps a target from taking anything, for whoever asks another process; nil: nothing does any more.
    package static func note(
        _ trouble: String?, of target: String, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        guard let trouble else {
            try session.run("DELETE FROM outbox_troubles WHERE target = $1", .text(target))
            return
        }
        try session.run(
            """
            INSERT INTO outbox_troubles(target, since, reason) VALUES ($1, $2, $3)
            ON CONFLICT (target) DO UPDATE SET reason = excluded.reason
            """, .text(target), .integer(now.milliseconds), .text(trouble))
    }

    /// Whether this process forwards to a target: one at a time does, and when it ends, another. The session keeps it for as long as it
    /// lasts.
    package static func isMine(_ target: String, in session: any Session) throws(StoreError) -> Bool {
        try session.isOnly(target)
    }

    // MARK: While a batch is stored

    /// What the outbox gets of a batch.
    struct Row {
        let id: String
        let rows: Int
        let body: [UInt8]
    }

    /// - Parameters:
    ///   - isNewID: nothing was stored under the id of the batch so far, and it is remembered.
    ///   - isNew: whether a row was stored now; asked once for each.
    /// - Returns: nil when there is nothing to forward.
    static func row(
        of submission: Submission, isNewID: Bool, isNew: (Timestamp, UUIDv7) -> Bool
    ) -> Row? {
        guard let forwarding = submission.forwarding else { return nil }
        let batch = submission.batch
        var ids: [UUIDv7] = []
        func isStored(_ time: Timestamp, _ id: UUIDv7) -> Bool {
            guard submission.isKept(time), isNew(time, id) else { return false }
            ids.append(id)
            return true
        }
        let rows = EnvelopeCut.Rows(
            locations: batch.locations.map { isStored($0.time, $0.id) },
            crossings: batch.events.map { isStored($0.time, $0.id) },
            events: batch.remarks.events.map { isStored($0.time, $0.id) })
        guard !ids.isEmpty else { return nil }
        // 23.4: an id that was seen does not tell these rows from the first ones.
        let id = isNewID ? "\(batch.id)" : "\(batch.id).\(hex(Submission.digest(of: ids)))"
        let body =
            ids.count == submission.rows
            ? forwarding.envelope : cut(forwarding, to: rows) ?? forwarding.envelope
        return Row(id: id, rows: ids.count, body: body)
    }

    private static func cut(_ forwarding: Forwarding, to rows: EnvelopeCut.Rows) -> [UInt8]? {
        guard forwarding.isPacked else { return EnvelopeCut.cut(forwarding.envelope, to: rows) }
        let result = forwarding.envelope.withUnsafeBytes { bytes in
            Swift.Result { () throws(Fault) in try Gunzip.unpack(bytes, limit: Limits().unpacked) }
        }
        guard case .success(let plain) = result, let some = EnvelopeCut.cut(plain, to: rows),
            let gzip = Gzip()
        else { return nil }
        return gzip.compress(some)
    }

    private static func hex(_ number: Int64) -> String {
        let text = String(UInt64(bitPattern: number), radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

extension SQLiteSession {
    /// Who reads sees what is committed, and one writes at a time.
    var isBehindAll: String { "1" }
    /// Nobody else has the file.
    func isOnly(_ target: String) -> Bool { true }
}

extension PostgresSession {
    /// All transactions that began before have ended, so that none of them comes in between.
    var isBehindAll: String { "tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint" }

    func isOnly(_ target: String) throws(StoreError) -> Bool {
        // The lock is this session's again and again. A machine that goes without a word keeps it for half a minute.
        let key = Int32(truncatingIfNeeded: Digest.short(Array(target.utf8)))
        let rows = try run(
            """
            SELECT pg_try_advisory_lock(\(Self.forwarding), \(key)), set_config('tcp_keepalives_idle', '10', false),
                set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '4', false)
            """, [])
        return rows.first?.first?.integer == 1
    }

    /// `BKSF`: locks of two numbers are apart from those of one.
    private static let forwarding = 0x424B_5346
}
