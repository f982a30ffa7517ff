package import Base
package import ServerStore

/// A rule that has something to be sent to its webhook.
package struct DueRule: Sendable {
    package var id: Int64
    package var name: String
    package var url: String
    package var secret: String?
}

/// An alert on its way to a webhook.
package struct WebhookJob: Sendable {
    package var rule: DueRule
    package var alert: Alert
    package var created: Timestamp
    /// How often it has been tried, this time included.
    package var attempt: Int64
}

/// What is noted of an attempt that was not accepted.
package enum Setback: Equatable, Sendable {
    /// Another attempt follows after so many seconds.
    case retry(after: Double, reason: String)
    /// No attempt follows.
    case givenUp(reason: String)
    /// The outcome of the attempt is not known; it is repeated at once.
    case interrupted
}

/// An alert is claimed for a while, in the database: as long as that lasts, no other server sends it. `due` is when it may be
/// claimed, so that one whose server has gone comes back by itself; `attempts` tells whose claim it is.
extension AlertOutbox {
    /// Milliseconds: longer than an attempt may take.
    private static let webhookLease: Int64 = 30_000
    /// Bytes of a reason that are kept.
    static let longestReason = 300

    /// The clock that all servers of a database share.
    static func clock(_ now: Timestamp, _ session: any Session) throws(StoreError) -> Int64 {
        try (session.clock() ?? now).milliseconds
    }

    /// Rules with alerts that may be claimed for their webhooks.
    package static func dueRules(now: Timestamp, in session: any Session) throws(StoreError) -> [DueRule] {
        let now = try clock(now, session)
        return try session.run(
            """
            SELECT r.id, r.name, r.webhook, r.secret FROM alert_rules r WHERE r.webhook IS NOT NULL
                AND EXISTS (SELECT 1 FROM alerts a WHERE a.rule = r.id AND a.due <= $1) ORDER BY r.id
            """, .integer(now)
        ).compactMap { row in
            guard let id = row[0].integer, let name = row[1].text, let url = row[2].text else { return nil }
            return DueRule(id: id, name: name, url: url, secret: row[3].text)
        }
    }

    /// Claims alerts, those first that have waited longest.
    ///
    /// - Parameter rules: with the number of alerts to claim of each.
    package static func claimWebhooks(
        of rules: [(rule: DueRule, most: Int)], now: Timestamp, in session: any Session
    ) throws(StoreError) -> [WebhookJob] {
        try session.transaction { () throws(StoreError) in
            let now = try clock(now, session)
            var jobs: [WebhookJob] = []
            for (rule, most) in rules {
                let rows = try session.run(
                    """
                    SELECT device, id, time, created, kind, text, object, attempts FROM alerts
                    WHERE rule = $1 AND due <= $2 ORDER BY due LIMIT $3 \(session.skippingLocked)
                    """, .integer(rule.id), .integer(now), .integer(Int64(most)))
                for row in rows {
                    guard let device = row[0].integer, let id = row[1].id, let time = row[2].integer,
                        let created = row[3].integer, let kind = row[4].text, let text = row[5].text,
                        let object = row[6].text, let attempts = row[7].integer
                    else { continue }
                    try session.run(
                        "UPDATE alerts SET due = $1, attempts = $2 WHERE device = $3 AND id = $4",
                        .integer(now + webhookLease), .integer(attempts + 1), .integer(device), .id(id))
                    let alert = Alert(
                        id: id, rule: rule.id, device: device, time: Timestamp(milliseconds: time),
                        kind: kind, text: text, object: object)
                    jobs.append(
                        WebhookJob(
                            rule: rule, alert: alert, created: Timestamp(milliseconds: created),
                            attempt: attempts + 1))
                }
            }
            return jobs
        }
    }

    /// Notes that an alert was accepted.
    package static func finish(
        _ job: WebhookJob, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        // Whoever's claim it is by now.
        try session.run(
            """
            UPDATE alerts SET done = $1, due = NULL, failed = NULL, reason = NULL
            WHERE device = $2 AND id = $3 AND done IS NULL
            """, .integer(try clock(now, session)), .integer(job.alert.device), .id(job.alert.id))
    }

    /// Notes that an alert was not accepted.
    package static func finish(
        _ job: WebhookJob, _ setback: Setback, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        let now = try clock(now, session)
        // With another number of attempts it is another's claim, or has been withdrawn.
        let own = "device = $3 AND id = $4 AND attempts = $5 AND due IS NOT NULL"
        let key: [Cell] = [.integer(job.alert.device), .id(job.alert.id), .integer(job.attempt)]
        switch setback {
        case .retry(let seconds, let reason):
            _ = try session.run(
                "UPDATE alerts SET due = $1, reason = $2 WHERE \(own)",
                [.integer(now + milliseconds(seconds)), .text(bounded(reason))] + key)
        case .givenUp(let reason):
            _ = try session.run(
                "UPDATE alerts SET failed = $1, reason = $2, due = NULL WHERE \(own)",
                [.integer(now), .text(bounded(reason))] + key)
        case .interrupted:
            _ = try session.run(
                "UPDATE alerts SET due = $1, reason = $2 WHERE \(own)",
                [.integer(now), .text("the server was stopped while it was sent")] + key)
        }
    }

    static func milliseconds(_ seconds: Double) -> Int64 {
        Int64(max(0, min(seconds, 86_400)) * 1000)
    }

    static func bounded(_ reason: String) -> String {
        // Neither database takes a NUL in a text.
        String(decoding: reason.utf8.lazy.filter { $0 != 0 }.prefix(longestReason), as: UTF8.self)
    }
}
