package import Base

/// What an admin wants to be told of, and where.
package struct AlertRule: Equatable, Sendable {
    package var id: Int64
    package var name: String
    package var kind: String
    /// What the kind asks for, as JSON.
    package var settings: String
    /// The group whose vehicles it watches; nil: all of them, or `device`.
    package var group: Int64?
    package var device: Int64?
    /// An address by http or https; nil: none is told.
    package var webhook: String?
    /// `whsec_` and base64: what the webhook's signatures are made with.
    package var secret: String?
    /// Addresses; empty: no mail.
    package var mail: [String]
    /// Seconds between two of its mails, at least.
    package var mailInterval: Int64
    package var created: Timestamp
    package var author: String

    package init(
        id: Int64, name: String, kind: String, settings: String = "{}", group: Int64? = nil,
        device: Int64? = nil, webhook: String? = nil, secret: String? = nil, mail: [String] = [],
        mailInterval: Int64 = 300, created: Timestamp, author: String
    ) {
        self.id = id
        self.name = name
        self.kind = kind
        self.settings = settings
        self.group = group
        self.device = device
        self.webhook = webhook
        self.secret = secret
        self.mail = mail
        self.mailInterval = mailInterval
        self.created = created
        self.author = author
    }
}

/// One thing that has happened, for one rule. It never changes: each time that it is told, it is told alike.
package struct Alert: Equatable, Sendable {
    /// A hash of event and rule, so that what comes again is the same alert.
    package var id: UUIDv7
    package var rule: Int64
    package var device: Int64
    /// When it happened.
    package var time: Timestamp
    package var kind: String
    /// A line for people, without the time: "van 7 has left Depot".
    package var text: String
    /// What a program wants to know, as a JSON object.
    package var object: String

    /// Bytes of `object`, and of `text`.
    package static let longestObject = 4096
    package static let longestText = 500
    /// Older ones are listed and not sent, in seconds.
    package static let sentWithin = 3600.0

    package init(
        id: UUIDv7, rule: Int64, device: Int64, time: Timestamp, kind: String, text: String, object: String
    ) {
        self.id = id
        self.rule = rule
        self.device = device
        self.time = time
        self.kind = kind
        self.text = text
        self.object = object
    }
}

/// Alerts that are to be sent, in the database. Each function is for a thread of the store.
package enum AlertOutbox {
    /// Adds an alert, within the transaction that stores what it tells; one that is there already stays as it is.
    ///
    /// - Parameters:
    ///   - rule: its rule, which says where it goes.
    ///   - now: the time by which it is sent and grows old.
    /// - Returns: whether it is new.
    @discardableResult
    package static func add(
        _ alert: Alert, of rule: AlertRule, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        let isSent = alert.time.advanced(bySeconds: Alert.sentWithin) >= now
        return try !session.run(
            """
            INSERT INTO alerts(device, id, rule, time, created, kind, text, object, due, attempts, mail)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10) ON CONFLICT DO NOTHING RETURNING device
            """, .integer(alert.device), .id(alert.id), .integer(alert.rule),
            .integer(alert.time.milliseconds), .integer(now.milliseconds), .text(alert.kind),
            .text(alert.text), .text(alert.object),
            isSent && rule.webhook != nil ? .integer(now.milliseconds) : .null,
            isSent && !rule.mail.isEmpty ? .integer(0) : .null
        ).isEmpty
    }
}
