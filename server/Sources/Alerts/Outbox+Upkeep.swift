package import Base
package import ServerStore

extension AlertOutbox {
    /// Seconds for which something is tried.
    package static let patience: Int64 = 3 * 86_400
    /// Milliseconds that alerts stay at most, from when they were added: 30 days from the last attempt on.
    private static let kept: Int64 = 34 * 86_400_000
    /// Milliseconds: no back-off reaches further ahead than an hour. What is due later is of a clock that was ahead.
    private static let furthest: Int64 = 2 * 3_600_000
    /// Rows that one step removes.
    private static let step: Int64 = 1000

    /// What doctor and metrics tell.
    package struct Facts: Equatable, Sendable {
        /// Something that waits to be sent, and since when the oldest of it does.
        package struct Waiting: Equatable, Sendable {
            package var count: Int64
            package var since: Timestamp?
        }

        package var webhooks: Waiting
        /// Alerts that are in no mail yet, and mails that wait for a recipient.
        package var mails: Waiting
        /// Given up within the last day.
        package var failed: Int64
        /// Why, the last time.
        package var reason: String?
        /// Rules that ask for mail, and those with a webhook that is not on this machine.
        package var mailRules: Int64
        package var remoteWebhooks: Int64
    }

    package static func facts(now: Timestamp, from session: any Session) throws(StoreError) -> Facts {
        let now = try clock(now, session)
        func waiting(_ sql: String...) throws(StoreError) -> Facts.Waiting {
            var sum = Facts.Waiting(count: 0)
            for statement in sql {
                guard let row = try session.run(statement).first else { continue }
                sum.count += row[0].integer ?? 0
                let since = row[1].integer.map { Timestamp(milliseconds: $0) }
                sum.since = [sum.since, since].compactMap { $0 }.min()
            }
            return sum
        }
        let day = Cell.integer(now - 86_400_000)
        var failed: Int64 = 0
        var last: (time: Int64, reason: String?) = (0, nil)
        for table in ["alerts", "alert_recipients"] {
            failed +=
                try session.run("SELECT count(*) FROM \(table) WHERE failed > $1", day).first?.first?.integer
                ?? 0
            if let row = try session.run(
                "SELECT failed, reason FROM \(table) WHERE failed > $1 ORDER BY failed DESC LIMIT 1", day
            ).first, let time = row[0].integer, time > last.time {
                last = (time, row[1].text)
            }
        }
        let rules = try session.run("SELECT webhook, mail FROM alert_rules")
        return Facts(
            webhooks: try waiting("SELECT count(*), min(created) FROM alerts WHERE due IS NOT NULL"),
            mails: try waiting(
                "SELECT count(*), min(created) FROM alerts WHERE mail = 0",
                "SELECT count(*), min(created) FROM alert_mails WHERE done IS NULL"),
            failed: failed, reason: last.reason,
            mailRules: Int64(rules.count { $0[1].text?.isEmpty == false }),
            remoteWebhooks: Int64(
                rules.count { $0[0].text.map { !WebAddress.isLocal(WebAddress.host($0)) } ?? false }))
    }

    /// What is looked after once a minute: clocks that were ahead, rules that are gone, and what has been kept for long enough.
    ///
    /// - Parameters:
    ///   - now: by the clock.
    ///   - age: by which stored data grows old; nil: it is not known, and nothing is removed.
    ///   - hasMail: there is a mail server.
    package static func tidy(
        now: Timestamp, age: Timestamp?, hasMail: Bool, in session: any Session
    ) throws(StoreError) {
        let now = try clock(now, session)
        for table in ["alerts", "alert_recipients"] {
            try session.run(
                "UPDATE \(table) SET due = $1 WHERE due > $2", .integer(now), .integer(now + furthest))
        }
        try session.run(
            """
            UPDATE alerts SET due = NULL WHERE due IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM alert_rules r WHERE r.id = alerts.rule AND r.webhook IS NOT NULL)
            """)
        try session.run(
            """
            UPDATE alerts SET mail = NULL WHERE mail = 0 AND NOT EXISTS (
                SELECT 1 FROM alert_rules r WHERE r.id = alerts.rule AND r.mail IS NOT NULL)
            """)
        guard let age = age?.milliseconds else { return }
        if !hasMail {
            try session.run(
                """
                UPDATE alerts SET mail = NULL, failed = $1, reason = 'no mail server is configured'
                WHERE mail = 0 AND created < $2
                """, .integer(now), .integer(age - 1000 * patience))
        }
        try session.run(
            """
            DELETE FROM alerts WHERE (device, id) IN (SELECT device, id FROM alerts WHERE created < $1 LIMIT $2)
            """, .integer(age - kept), .integer(step))
        let oldest = try session.run(
            "SELECT id, created FROM alert_mails ORDER BY id LIMIT $1", .integer(step))
        guard let last = oldest.last(where: { $0[1].integer.map { $0 < age - kept } ?? false })?[0] else {
            return
        }
        try session.run("DELETE FROM alert_recipients WHERE mail <= $1", last)
        try session.run("DELETE FROM alert_mails WHERE id <= $1", last)
    }
}
