package import Base

/// A rule as its admins see it.
package struct RuleEntry: Sendable {
    package var rule: AlertRule
    /// Names of what it watches; nil for all vehicles, and for what is gone.
    package var group: String?
    package var device: String?
}

/// What an admin wants a rule to be.
package struct RuleDraft: Sendable {
    package var name: String
    package var condition: AlertCondition
    /// Name of the group whose vehicles it watches; nil: all of them, or `device`.
    package var group: String?
    package var device: Int64?
    /// nil: as it was; empty: none.
    package var webhook: String?
    /// Replaces the secret of before. A webhook that had none gets it, too.
    package var secret: String
    package var renewsSecret: Bool
    package var mail: [String]
    package var mailInterval: Int64

    package init(
        name: String, condition: AlertCondition, group: String?, device: Int64?, webhook: String?,
        secret: String, renewsSecret: Bool, mail: [String], mailInterval: Int64
    ) {
        self.name = name
        self.condition = condition
        self.group = group
        self.device = device
        self.webhook = webhook
        self.secret = secret
        self.renewsSecret = renewsSecret
        self.mail = mail
        self.mailInterval = mailInterval
    }
}

/// The rules, in the database. Each function is for a thread of the store.
package enum AlertRules {
    /// Rules that there may be.
    package static let most: Int64 = 100

    /// A number that grows with each change of a rule.
    package static func revision(in session: any Session) throws(StoreError) -> Int64 {
        try session.run("SELECT next FROM numbers WHERE kind = 'rules'").first?.first?.integer ?? 0
    }

    /// All of them, by name.
    package static func all(in session: any Session) throws(StoreError) -> [RuleEntry] {
        try read("", [], in: session)
    }

    /// nil: there is no such rule.
    package static func rule(_ id: Int64, in session: any Session) throws(StoreError) -> AlertRule? {
        try read("WHERE r.id = $1", [.integer(id)], in: session).first?.rule
    }

    private static func read(
        _ condition: String, _ values: [Cell], in session: any Session
    ) throws(StoreError) -> [RuleEntry] {
        try session.run(
            """
            SELECT r.id, r.name, r.kind, r.settings, r.fleet_group, r.device, r.webhook, r.secret, r.mail,
                r.mail_interval, r.created, r.author, g.name, d.name
            FROM alert_rules r LEFT JOIN fleet_groups g ON g.id = r.fleet_group
                LEFT JOIN devices d ON d.id = r.device AND d.removed IS NULL
            \(condition) ORDER BY r.name
            """, values
        ).compactMap { row in
            guard let id = row[0].integer, let name = row[1].text, let kind = row[2].text,
                let settings = row[3].text, let interval = row[9].integer, let created = row[10].integer,
                let author = row[11].text
            else { return nil }
            let rule = AlertRule(
                id: id, name: name, kind: kind, settings: settings, group: row[4].integer,
                device: row[5].integer, webhook: row[6].text, secret: row[7].text,
                mail: row[8].text.map { $0.split(separator: ",").map { String($0) } } ?? [],
                mailInterval: interval, created: Timestamp(milliseconds: created), author: author)
            return RuleEntry(rule: rule, group: row[12].text, device: row[13].text)
        }
    }

    /// - Returns: the rule, and whether it has a new secret.
    /// - Throws: `.conflict` when the name is taken, what it watches is not there, or there are as many as may be.
    package static func add(
        _ draft: RuleDraft, by author: String, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (RuleEntry, isSecretNew: Bool) {
        try session.transaction { () throws(StoreError) in
            try advance(in: session)
            let count = try session.run("SELECT count(*) FROM alert_rules").first?.first?.integer
            guard let count, count < most else { throw conflict("there are \(most) rules already") }
            let number = try session.run(
                "UPDATE numbers SET next = next + 1 WHERE kind = 'rule' RETURNING next - 1")
            guard let id = number.first?.first?.integer else { throw conflict("there is no number for it") }
            try demandName(draft.name, for: id, in: session)
            let webhook = draft.webhook.flatMap { $0.isEmpty ? nil : $0 }
            try session.run(
                """
                INSERT INTO alert_rules(
                    id, name, kind, settings, fleet_group, device, webhook, secret, mail, mail_interval, created,
                    author)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                """, .integer(id), .text(draft.name), .text(draft.condition.kind.rawValue),
                .text(draft.condition.settings), .optional(try group(draft, in: session)),
                .optional(try device(draft, in: session)), .optional(webhook),
                .optional(webhook.map { _ in draft.secret }), .optional(mail(draft)),
                .integer(draft.mailInterval), .integer(now.milliseconds), .text(author))
            return (try entry(id, in: session), webhook != nil)
        }
    }

    /// Changes a rule, which then begins anew: what lasts is told once more.
    ///
    /// - Returns: nil when there is no such rule.
    /// - Throws: as `add` does.
    package static func change(
        _ id: Int64, to draft: RuleDraft, in session: any Session
    ) throws(StoreError) -> (RuleEntry, isSecretNew: Bool)? {
        try session.transaction { () throws(StoreError) in
            try advance(in: session)
            let known = try session.run("SELECT webhook, secret FROM alert_rules WHERE id = $1", .integer(id))
            guard let known = known.first else { return nil }
            try demandName(draft.name, for: id, in: session)
            let wanted = draft.webhook ?? known[0].text
            let webhook = wanted.flatMap { $0.isEmpty ? nil : $0 }
            let isSecretNew = webhook != nil && (draft.renewsSecret || known[1].text == nil)
            let secret = isSecretNew ? draft.secret : webhook.flatMap { _ in known[1].text }
            try session.run(
                """
                UPDATE alert_rules SET name = $1, kind = $2, settings = $3, fleet_group = $4, device = $5,
                    webhook = $6, secret = $7, mail = $8, mail_interval = $9 WHERE id = $10
                """, .text(draft.name), .text(draft.condition.kind.rawValue), .text(draft.condition.settings),
                .optional(try group(draft, in: session)), .optional(try device(draft, in: session)),
                .optional(webhook), .optional(secret), .optional(mail(draft)), .integer(draft.mailInterval),
                .integer(id))
            try forget(id, in: session)
            return (try entry(id, in: session), isSecretNew)
        }
    }

    /// Removes a rule. Its alerts stay listed; what of them was not sent yet is not sent any more.
    ///
    /// - Returns: false when there is no such rule.
    package static func remove(_ id: Int64, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            try advance(in: session)
            let gone = try session.run("DELETE FROM alert_rules WHERE id = $1 RETURNING id", .integer(id))
            guard !gone.isEmpty else { return false }
            try forget(id, in: session)
            return true
        }
    }

    /// As the last to write: whoever changes another rule waits from here on.
    private static func advance(in session: any Session) throws(StoreError) {
        try session.run("UPDATE numbers SET next = next + 1 WHERE kind = 'rules'")
    }

    private static func forget(_ id: Int64, in session: any Session) throws(StoreError) {
        try session.run("DELETE FROM alert_conditions WHERE rule = $1", .integer(id))
        try session.run("DELETE FROM alert_watches WHERE rule = $1", .integer(id))
    }

    private static func entry(_ id: Int64, in session: any Session) throws(StoreError) -> RuleEntry {
        guard let entry = try read("WHERE r.id = $1", [.integer(id)], in: session).first else {
            throw conflict("the rule has gone")
        }
        return entry
    }

    private static func demandName(
        _ name: String, for id: Int64, in session: any Session
    ) throws(StoreError) {
        let others = try session.run(
            "SELECT 1 FROM alert_rules WHERE name = $1 AND id <> $2", .text(name), .integer(id))
        guard others.isEmpty else { throw conflict("there is already a rule '\(name)'") }
    }

    private static func mail(_ draft: RuleDraft) -> String? {
        draft.mail.isEmpty ? nil : draft.mail.joined(separator: ",")
    }

    /// The lock on the row: a group does not go while a rule is made for it.
    private static func group(_ draft: RuleDraft, in session: any Session) throws(StoreError) -> Int64? {
        guard let name = draft.group else { return nil }
        let rows = try session.run(
            "UPDATE fleet_groups SET name = name WHERE name = $1 RETURNING id", .text(name))
        guard let id = rows.first?.first?.integer else { throw conflict("there is no group '\(name)'") }
        return id
    }

    private static func device(_ draft: RuleDraft, in session: any Session) throws(StoreError) -> Int64? {
        guard let id = draft.device else { return nil }
        let rows = try session.run(
            "UPDATE devices SET removed = removed WHERE id = $1 AND removed IS NULL RETURNING id",
            .integer(id))
        guard !rows.isEmpty else { throw conflict("there is no device \(id)") }
        return id
    }

    private static func conflict(_ message: String) -> StoreError {
        StoreError(.conflict, operation: "change a rule", message: message)
    }
}
