package import Base

/// From when on vehicles count as silent, for one rule. What nobody could have told is nobody's silence: it begins anew when the
/// server was not there, or nobody was heard of for as long as the rule waits. Pure.
package struct SilenceWatch: Equatable, Sendable {
    /// Nothing counts as silence before.
    package var since: Timestamp
    /// The last round.
    package var round: Timestamp
    /// When somebody was heard of last, as of that round.
    package var heard: Timestamp

    /// Seconds between two rounds, which are 20 apart, after which no server was there: down, or asleep, or its clock was set.
    package static let away = 60.0

    /// Begins with a round.
    package init(now: Timestamp, heard: Timestamp) {
        since = now
        round = now
        self.heard = heard
    }

    /// As it is stored.
    package init(since: Timestamp, round: Timestamp, heard: Timestamp) {
        self.since = since
        self.round = round
        self.heard = heard
    }

    /// A round.
    ///
    /// - Parameters:
    ///   - heard: when somebody was heard of last.
    ///   - minutes: as the rule says.
    package mutating func advance(now: Timestamp, heard: Timestamp, minutes: Int64) {
        if now < round || now.seconds(since: round) > Self.away {
            since = now
        } else if heard.seconds(since: self.heard) > 60 * Double(minutes) {
            // It was the way to the server that was interrupted, or everybody's.
            since = max(since, heard)
        }
        round = now
        self.heard = heard
    }

    /// Vehicles that were heard of last at this moment, or before, are silent; nil: none is.
    package func silentSince(minutes: Int64) -> Timestamp? {
        let edge = heard.advanced(bySeconds: -60 * Double(minutes))
        return since <= edge ? edge : nil
    }

    /// Whether the vehicle that was heard of last of all is silent. If nobody uploads any more, it is told of for all of them: they
    /// may have fallen silent, or the way to the server is interrupted.
    package func isLastSilent(minutes: Int64) -> Bool {
        round.seconds(since: max(heard, since)) >= 60 * Double(minutes)
    }
}

/// Looks for vehicles that are silent. Each function is for a thread of the store.
package enum Silences {
    /// Vehicles of one round, for each rule; more are found by the next.
    private static let most: Int64 = 200

    /// One round, for all rules of that kind.
    package static func look(by rules: RuleBook, now: Timestamp, in session: any Session) throws(StoreError) {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run("SELECT max(seen) FROM presence")
            // A clock that was set back: what is ahead of it was heard just now.
            guard let seen = rows.first?[0].integer else { return }
            let heard = min(now, Timestamp(milliseconds: seen))
            for entry in rules.entries(.silence).sorted(by: { $0.rule.id < $1.rule.id }) {
                try look(by: entry, now: now, heard: heard, in: session)
            }
        }
    }

    private static func look(
        by entry: RuleBook.Entry, now: Timestamp, heard: Timestamp, in session: any Session
    ) throws(StoreError) {
        let minutes = entry.condition.limit
        guard let watch = try advance(entry, now: now, heard: heard, in: session) else { return }
        try session.run(
            """
            DELETE FROM alert_conditions WHERE rule = $1 AND device IN (
                SELECT c.device FROM alert_conditions c JOIN presence p ON p.device = c.device
                WHERE c.rule = $1 AND p.seen > c.since)
            """, .integer(entry.rule.id))
        if let edge = watch.silentSince(minutes: minutes) {
            try tell(entry, "p.seen <= $2", edge, now: now, in: session)
        }
        if watch.isLastSilent(minutes: minutes) {
            try tell(entry, "p.seen >= $2", heard, now: now, in: session)
        }
    }

    /// - Returns: nil when another server has this round.
    private static func advance(
        _ entry: RuleBook.Entry, now: Timestamp, heard: Timestamp, in session: any Session
    ) throws(StoreError) -> SilenceWatch? {
        let rule = Cell.integer(entry.rule.id)
        let rows = try session.run(
            "SELECT since, round, heard FROM alert_watches WHERE rule = $1 \(session.skippingLocked)", rule)
        guard let row = rows.first, let since = row[0].integer, let round = row[1].integer,
            let before = row[2].integer
        else {
            let watch = SilenceWatch(now: now, heard: heard)
            let made = try session.run(
                """
                INSERT INTO alert_watches(rule, since, round, heard) VALUES ($1, $2, $2, $3)
                ON CONFLICT DO NOTHING RETURNING rule
                """, rule, .integer(now.milliseconds), .integer(heard.milliseconds))
            return made.isEmpty ? nil : watch
        }
        var watch = SilenceWatch(
            since: Timestamp(milliseconds: since), round: Timestamp(milliseconds: round),
            heard: Timestamp(milliseconds: before))
        watch.advance(now: now, heard: heard, minutes: entry.condition.limit)
        try session.run(
            "UPDATE alert_watches SET since = $1, round = $2, heard = $3 WHERE rule = $4",
            .integer(watch.since.milliseconds), .integer(watch.round.milliseconds),
            .integer(watch.heard.milliseconds), rule)
        return watch
    }

    /// - Parameter condition: of the vehicles that are silent, with `$2` for the moment.
    private static func tell(
        _ entry: RuleBook.Entry, _ condition: String, _ moment: Timestamp, now: Timestamp,
        in session: any Session
    ) throws(StoreError) {
        var target = ""
        var values: [Cell] = [
            .integer(entry.rule.id), .integer(moment.milliseconds), .integer(most),
        ]
        if let device = entry.rule.device {
            target = "AND d.id = $3"
            values.insert(.integer(device), at: 2)
        } else if let group = entry.rule.group {
            target = "AND d.fleet_group = $3"
            values.insert(.integer(group), at: 2)
        }
        let silent = try session.run(
            """
            SELECT d.id, d.name, d.fleet_group, p.seen FROM presence p JOIN devices d ON d.id = p.device
            WHERE NOT EXISTS (SELECT 1 FROM alert_conditions c WHERE c.device = d.id AND c.rule = $1)
                AND \(condition) AND d.removed IS NULL AND d.revoked IS NULL \(target)
            ORDER BY d.id LIMIT $\(values.count)
            """, values)
        for row in silent {
            guard let id = row[0].integer, let name = row[1].text, let seen = row[3].integer else { continue }
            let vehicle = RuleBook.Vehicle(id: id, name: name, group: row[2].integer)
            let last = Timestamp(milliseconds: seen)
            guard try AlertConditions.begin(entry.rule.id, of: id, since: last, in: session) else { continue }
            let alert = Alert(
                for: entry, vehicle, at: now, source: "\(seen)", type: nil,
                text: "\(name) has not been heard of since \(last.iso8601)",
                members: ",\"seen\":\"\(last.iso8601)\",\"minutes\":\(entry.condition.limit)")
            try AlertOutbox.add(alert, of: entry.rule, now: now, in: session)
        }
    }
}
