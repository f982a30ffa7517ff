package import Base
package import ServerStore

/// A mail on its way to one of its recipients.
package struct MailJob: Sendable {
    package var mail: Int64
    package var rule: Int64
    package var ruleName: String
    package var created: Timestamp
    package var address: MailAddress
    /// The whole mail: the same each time, since somebody may have it.
    package var message: String
    /// How often this recipient's has been tried, this time included.
    package var attempt: Int64
    /// Whether some of the mail may have reached the mail server in an earlier attempt.
    package var wasHanded: Bool
}

/// Mails list the alerts of a rule. `alerts.mail` is NULL where no mail is wanted, 0 until it is in one, then the number of that
/// mail. A mail that no server can have seen is written anew with each attempt, so that after an outage one mail lists all that
/// has happened meanwhile; once it may have been seen, it stays as it is.
extension AlertOutbox {
    /// Milliseconds: longer than an attempt may take.
    private static let mailLease: Int64 = 60_000
    /// Alerts that one mail tells of, most of them counted alone.
    private static let mostInMail: Int64 = 10_000
    /// A rule may have a mail: there is something to tell, its last one was not too soon before, and none waits that nobody has.
    private static let isDue = """
        EXISTS (SELECT 1 FROM alerts a WHERE a.mail = 0 AND a.rule = r.id)
            AND (r.mailed IS NULL OR r.mailed <= $1 - 1000 * r.mail_interval OR r.mailed > $1)
            AND NOT EXISTS (SELECT 1 FROM alert_mails m WHERE m.rule = r.id AND m.done IS NULL AND m.accepted IS NULL)
        """
    private static let hasDueRecipient =
        "EXISTS (SELECT 1 FROM alert_recipients p WHERE p.mail = m.id AND p.due <= $1)"

    /// Whether there is anything for `claimMails`.
    package static func hasMail(now: Timestamp, in session: any Session) throws(StoreError) -> Bool {
        let now = Cell.integer(try clock(now, session))
        let waiting = try session.run(
            "SELECT m.id FROM alert_mails m WHERE m.done IS NULL AND \(hasDueRecipient) LIMIT 1", now)
        guard waiting.isEmpty else { return true }
        return try !session.run("SELECT r.id FROM alert_rules r WHERE \(isDue) LIMIT 1", now).isEmpty
    }

    /// Makes the mails that rules may have, and claims what is to be sent.
    ///
    /// - Parameter most: recipients.
    package static func claimMails(
        _ most: Int, by server: MailServer, page: String?, now: Timestamp, in session: any Session
    ) throws(StoreError) -> [MailJob] {
        try session.transaction { () throws(StoreError) in
            let now = try clock(now, session)
            let rules = try session.run(
                "SELECT r.id FROM alert_rules r WHERE \(isDue) ORDER BY r.id LIMIT $2", .integer(now),
                .integer(Int64(most)))
            for rule in rules { try makeMail(of: rule[0].integer ?? 0, now, session) }
            var jobs: [MailJob] = []
            let mails = try session.run(
                """
                SELECT m.id, m.rule, m.created, m.message, m.accepted FROM alert_mails m
                WHERE m.done IS NULL AND \(hasDueRecipient) ORDER BY m.id LIMIT $2 \(session.skippingLocked)
                """, .integer(now), .integer(Int64(most)))
            for row in mails where jobs.count < most {
                guard let mail = row[0].integer, let rule = row[1].integer, let created = row[2].integer
                else { continue }
                jobs += try claim(
                    Waiting(
                        mail: mail, rule: rule, created: created, message: row[3].text,
                        isAccepted: row[4] != .null),
                    most - jobs.count, by: server, page: page, now, session)
            }
            return jobs
        }
    }

    private struct Waiting {
        var mail: Int64
        var rule: Int64
        var created: Int64
        var message: String?
        /// By one of its recipients' servers.
        var isAccepted: Bool
    }

    /// Other servers may want to make it at the same moment: who changes the rule's row first does.
    private static func makeMail(of rule: Int64, _ now: Int64, _ session: any Session) throws(StoreError) {
        let rows = try session.run(
            """
            UPDATE alert_rules SET mailed = $1 WHERE id = $2
                AND (mailed IS NULL OR mailed <= $1 - 1000 * mail_interval OR mailed > $1) RETURNING mail
            """, .integer(now), .integer(rule))
        guard let row = rows.first else { return }
        let addresses = addresses(row[0].text)
        guard !addresses.isEmpty else {
            // Whom it was for has been taken out of the rule.
            try session.run("UPDATE alerts SET mail = NULL WHERE mail = 0 AND rule = $1", .integer(rule))
            return
        }
        let next = try session.run(
            "UPDATE numbers SET next = next + 1 WHERE kind = 'mail' RETURNING next - 1")
        guard let mail = next.first?.first?.integer else {
            throw StoreError(.failed, operation: "make a mail", message: "there is no number for it")
        }
        try session.run(
            "INSERT INTO alert_mails(id, rule, created) VALUES ($1, $2, $3)", .integer(mail), .integer(rule),
            .integer(now))
        for address in addresses {
            try session.run(
                """
                INSERT INTO alert_recipients(mail, address, due, attempts, handed) VALUES ($1, $2, $3, 0, 0)
                ON CONFLICT DO NOTHING
                """, .integer(mail), .text(address), .integer(now))
        }
    }

    /// Within the lock on the mail's row.
    private static func claim(
        _ waiting: Waiting, _ most: Int, by server: MailServer, page: String?, _ now: Int64,
        _ session: any Session
    ) throws(StoreError) -> [MailJob] {
        let mail = Cell.integer(waiting.mail)
        let rule = try session.run(
            "SELECT name, mail FROM alert_rules WHERE id = $1", .integer(waiting.rule)
        ).first
        let name = rule?[0].text ?? ""
        let current = addresses(rule?[1].text)
        var message = waiting.message
        if message == nil, rule != nil {
            message = try write(waiting, name, current, by: server, page: page, now, session)
        }
        guard rule != nil, let message else {
            return try withdraw(waiting, "its rule or its alerts have been removed", now, session)
        }
        let rows = try session.run(
            "SELECT address, attempts, handed FROM alert_recipients WHERE mail = $1 AND due <= $2 ORDER BY address LIMIT $3",
            mail, .integer(now), .integer(Int64(most)))
        var jobs: [MailJob] = []
        for row in rows {
            guard let text = row[0].text, let attempts = row[1].integer else { continue }
            guard current.contains(text), let address = MailAddress(text) else {
                try session.run(
                    """
                    UPDATE alert_recipients SET due = NULL, failed = $1, reason = 'no longer in the rule'
                    WHERE mail = $2 AND address = $3
                    """, .integer(now), mail, .text(text))
                continue
            }
            try session.run(
                """
                UPDATE alert_recipients SET due = $1, attempts = $2, handed = 1 WHERE mail = $3 AND address = $4
                """, .integer(now + mailLease), .integer(attempts + 1), mail, .text(text))
            jobs.append(
                MailJob(
                    mail: waiting.mail, rule: waiting.rule, ruleName: name,
                    created: Timestamp(milliseconds: waiting.created), address: address, message: message,
                    attempt: attempts + 1, wasHanded: row[2].integer != 0))
        }
        if jobs.isEmpty { try close(waiting.mail, now, session) }
        if !jobs.isEmpty, !waiting.isAccepted {
            // The next one is so much later than this one goes out, however long it has waited.
            try session.run(
                "UPDATE alert_rules SET mailed = $1 WHERE id = $2", .integer(now), .integer(waiting.rule))
        }
        return jobs
    }

    /// Writes the mail, with all that its rule has to tell by now.
    ///
    /// - Returns: nil when there is nothing left to tell.
    private static func write(
        _ waiting: Waiting, _ name: String, _ addresses: [String], by server: MailServer, page: String?,
        _ now: Int64, _ session: any Session
    ) throws(StoreError) -> String? {
        let mail = Cell.integer(waiting.mail)
        try session.run(
            """
            UPDATE alerts SET mail = $1 WHERE mail = 0 AND (device, id) IN (
                SELECT device, id FROM alerts WHERE mail = 0 AND rule = $2 LIMIT $3)
            """, mail, .integer(waiting.rule), .integer(mostInMail))
        let count = try session.run("SELECT count(*) FROM alerts WHERE mail = $1", mail).first?.first?.integer
        guard let count, count > 0 else { return nil }
        let lines = try session.run(
            "SELECT time, text FROM alerts WHERE mail = $1 ORDER BY time, id LIMIT $2", mail,
            .integer(Int64(MailText.most))
        ).compactMap { row in
            row[0].integer.flatMap { time in
                row[1].text.map { MailText.Line(time: Timestamp(milliseconds: time), text: $0) }
            }
        }
        let text = MailText(
            number: waiting.mail, rule: name, time: Timestamp(milliseconds: waiting.created),
            recipients: addresses.compactMap { MailAddress($0) }, lines: lines, count: count, page: page)
        let message = text.message(from: server)
        try session.run("UPDATE alert_mails SET message = $1 WHERE id = $2", .text(message), mail)
        return message
    }

    private static func withdraw(
        _ waiting: Waiting, _ reason: String, _ now: Int64, _ session: any Session
    ) throws(StoreError) -> [MailJob] {
        try session.run(
            "UPDATE alert_recipients SET due = NULL, reason = $1 WHERE mail = $2 AND due IS NOT NULL",
            .text(reason), .integer(waiting.mail))
        try close(waiting.mail, now, session)
        return []
    }

    /// Ends a mail that waits for nobody any more, and lets one be written anew that nobody can have seen. Within the lock on its
    /// row.
    private static func close(_ mail: Int64, _ now: Int64, _ session: any Session) throws(StoreError) {
        let recipients = try session.run(
            "SELECT due, handed FROM alert_recipients WHERE mail = $1", .integer(mail))
        if recipients.allSatisfy({ $0[0] == .null }) {
            try session.run(
                "UPDATE alert_mails SET done = $1, message = NULL WHERE id = $2", .integer(now),
                .integer(mail)
            )
        } else if recipients.allSatisfy({ $0[1].integer == 0 }) {
            try session.run("UPDATE alert_mails SET message = NULL WHERE id = $1", .integer(mail))
        }
    }

    /// Notes what came of an attempt; nil: it was accepted.
    ///
    /// - Parameter isHanded: some of it may have reached the mail server.
    package static func finish(
        _ job: MailJob, _ setback: Setback?, isHanded: Bool, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        try session.transaction { () throws(StoreError) in
            let now = try clock(now, session)
            // The lock on its row.
            try session.run("UPDATE alert_mails SET rule = rule WHERE id = $1", .integer(job.mail))
            guard let setback else {
                try session.run(
                    """
                    UPDATE alert_recipients SET done = $1, due = NULL, failed = NULL, reason = NULL
                    WHERE mail = $2 AND address = $3
                    """, .integer(now), .integer(job.mail), .text(job.address.text))
                try session.run(
                    "UPDATE alert_mails SET accepted = coalesce(accepted, $1) WHERE id = $2", .integer(now),
                    .integer(job.mail))
                return try close(job.mail, now, session)
            }
            let (due, failed, reason): (Cell, Cell, String) =
                switch setback {
                case .retry(let seconds, let reason): (.integer(now + milliseconds(seconds)), .null, reason)
                case .givenUp(let reason): (.null, .integer(now), reason)
                case .interrupted: (.integer(now), .null, "the server was stopped while it was sent")
                }
            // With another number of attempts it is another's claim, or has been withdrawn.
            try session.run(
                """
                UPDATE alert_recipients SET due = $1, failed = $2, reason = $3, handed = $4
                WHERE mail = $5 AND address = $6 AND attempts = $7 AND due IS NOT NULL
                """, due, failed, .text(bounded(reason)), .integer(job.wasHanded || isHanded ? 1 : 0),
                .integer(job.mail), .text(job.address.text), .integer(job.attempt))
            try close(job.mail, now, session)
        }
    }

    /// The addresses in the column of a rule.
    private static func addresses(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map { word in
            String(word.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }.filter { !$0.isEmpty }
    }
}
