internal import Base
internal import EnvelopeReader

/// Finds what of an upload its rules wait for, within the transaction that stores it: what is stored is told, and what is not, is
/// not. Rows that were there before tell nothing.
enum AlertFinder {
    /// Alerts of one upload, the newest; all that has happened is among its events all the same.
    static let most = 100
    /// By so much a battery must be above the limit to be called recovered, in per cent.
    static let recovery = 5.0

    private struct Found {
        var alert: Alert
        var rule: AlertRule
    }

    /// - Parameter uploads: in the order in which devices are locked.
    /// - Returns: devices of which there is something new.
    static func note(_ uploads: [NewRows], in session: any Session) throws(StoreError) -> Set<Int64> {
        var devices: Set<Int64> = []
        for rows in uploads {
            guard let rules = rows.submission.rules, rules.isConcerned(by: rows),
                let vehicle = try vehicle(rows.submission.device, in: session)
            else { continue }
            var found = try judgeStatus(of: rows, of: vehicle, by: rules, in: session)
            let happened =
                crossings(rows, of: vehicle, by: rules) + events(rows, of: vehicle, by: rules)
                + (try speeding(rows, of: vehicle, by: rules, in: session))
            found += happened.sorted { $0.alert.time > $1.alert.time }.prefix(max(0, most - found.count))
            // The oldest first: so they are numbered, and sent.
            for one in found.reversed() {
                let isNew = try AlertOutbox.add(
                    one.alert, of: one.rule, now: rows.submission.wall, in: session)
                if isNew { devices.insert(vehicle.id) }
            }
        }
        return devices
    }

    private static func vehicle(
        _ device: Int64, in session: any Session
    ) throws(StoreError) -> RuleBook.Vehicle? {
        let rows = try session.run(
            "SELECT name, fleet_group FROM devices WHERE id = $1 AND removed IS NULL", .integer(device))
        guard let row = rows.first, let name = row[0].text else { return nil }
        return RuleBook.Vehicle(id: device, name: name, group: row[1].integer)
    }

    // MARK: What vehicles tell

    private static func crossings(
        _ rows: NewRows, of vehicle: RuleBook.Vehicle, by rules: RuleBook
    ) -> [Found] {
        let entries = rules.entries(.geofence).filter { $0.watches(vehicle) }
        return rows.events.flatMap { event in
            let type = event.kind == .enter ? "enter" : "exit"
            return entries.filter { $0.condition.isMet(by: type, fence: event.geofence) }.map { entry in
                let verb = event.kind == .enter ? "entered" : "left"
                return found(
                    entry, vehicle, at: event.time, source: "\(event.id)", type: type,
                    text: "\(vehicle.name) has \(verb) \(event.geofence)",
                    members: ",\"fence\":\(JSONText.string(event.geofence))")
            }
        }
    }

    private static func events(
        _ rows: NewRows, of vehicle: RuleBook.Vehicle, by rules: RuleBook
    ) -> [Found] {
        rows.vehicleEvents.flatMap { event -> [Found] in
            guard let kind = Told.kind(event) else { return [] }
            let entries = rules.entries(kind).filter { $0.watches(vehicle) }
            guard !entries.isEmpty, let told = JSONText.read(Told.self, from: event.object),
                let type = told.type
            else { return [] }
            let name = vehicle.name
            let text =
                switch (event.kind, type) {
                case ("ignition", "on"): "\(name) has switched its ignition on"
                case ("ignition", "off"): "\(name) has switched its ignition off"
                case ("power", "lost"): "\(name) has lost its external power"
                case ("power", "back"): "\(name) has its external power back"
                case ("trip", "started"): "\(name) has started a trip"
                case ("trip", "ended"): "\(name) has ended a trip"
                case ("dwell", _): "\(name) stays in \(told.subject ?? "a geofence")"
                default: "\(name) tells: \(event.kind) \(type)"
                }
            var members = told.subject.map { ",\"fence\":\(JSONText.string($0))" } ?? ""
            members += ",\"event\":\(String(decoding: event.object, as: UTF8.self))"
            return entries.filter { $0.condition.isMet(by: type, fence: told.subject) }.map { entry in
                found(
                    entry, vehicle, at: event.time, source: "\(event.id)", type: type, text: text,
                    members: members)
            }
        }
    }

    // MARK: What locations show

    /// One alert for each stretch: a location before or behind it that is over the limit, too, has told it already.
    private static func speeding(
        _ rows: NewRows, of vehicle: RuleBook.Vehicle, by rules: RuleBook, in session: any Session
    ) throws(StoreError) -> [Found] {
        let entries = rules.entries(.speed).filter { $0.watches(vehicle) }
        guard !entries.isEmpty, !rows.locations.isEmpty else { return [] }
        let locations = rows.locations.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
        var all: [Found] = []
        for entry in entries {
            let limit = entry.condition.limit
            for stretch in Speeding.stretches(in: locations, over: limit) {
                guard let first = stretch.first, let last = stretch.last,
                    try !isOver(limit, nextTo: first, isBefore: true, of: vehicle.id, in: session),
                    try !isOver(limit, nextTo: last, isBefore: false, of: vehicle.id, in: session)
                else { continue }
                let top = stretch.compactMap(\.speed).max() ?? 0
                let speed = Int64(exactly: (top * 3.6).rounded()) ?? limit
                all.append(
                    found(
                        entry, vehicle, at: first.time, source: "\(first.id)", type: nil,
                        text: "\(vehicle.name) drives \(speed) km/h, over \(limit)",
                        members:
                            ",\"kilometers_per_hour\":\(speed),\"latitude\":\(first.latitude),\"longitude\":\(first.longitude)"
                    ))
            }
        }
        return all
    }

    private static func isOver(
        _ limit: Int64, nextTo row: LocationRow, isBefore: Bool, of device: Int64, in session: any Session
    ) throws(StoreError) -> Bool {
        let edge = row.time.advanced(bySeconds: isBefore ? -Speeding.gap : Speeding.gap)
        let (sign, bound, order) = isBefore ? ("<", ">=", "DESC") : (">", "<=", "ASC")
        let rows = try session.run(
            """
            SELECT speed FROM locations WHERE device = $1 AND (time, id) \(sign) ($2, $3) AND time \(bound) $4
                AND speed IS NOT NULL ORDER BY time \(order), id \(order) LIMIT 1
            """, .integer(device), .integer(row.time.milliseconds), .id(row.id), .integer(edge.milliseconds))
        return rows.first?[0].real.map { $0 * 3.6 > Double(limit) } ?? false
    }

    // MARK: What lasts

    /// What a status says is told once, until it is over.
    private static func judgeStatus(
        of rows: NewRows, of vehicle: RuleBook.Vehicle, by rules: RuleBook, in session: any Session
    ) throws(StoreError) -> [Found] {
        let entries = (rules.entries(.battery) + rules.entries(.failing)).filter { $0.watches(vehicle) }
        guard !entries.isEmpty, let bytes = rows.submission.batch.remarks.status,
            let status = JSONText.read(ToldStatus.self, from: bytes)
        else { return [] }
        let known = Set(
            try session.run("SELECT rule FROM alert_conditions WHERE device = $1", .integer(vehicle.id))
                .compactMap { $0[0].integer })
        let now = rows.submission.wall
        var all: [Found] = []
        for entry in entries.sorted(by: { $0.rule.id < $1.rule.id }) {
            let isKnown = known.contains(entry.rule.id)
            guard let holds = entry.condition.holds(status, isKnown: isKnown), holds != isKnown else {
                continue
            }
            guard holds else {
                try AlertConditions.end(entry.rule.id, of: vehicle.id, in: session)
                continue
            }
            guard try AlertConditions.begin(entry.rule.id, of: vehicle.id, since: now, in: session) else {
                continue
            }
            let percent = status.battery.flatMap { Int64(exactly: ($0 * 100).rounded()) }
            let text =
                entry.condition.kind == .battery
                ? "The battery of \(vehicle.name) is at \(percent ?? 0) %"
                : "\(vehicle.name) fails: \(status.trouble ?? "")"
            let members =
                entry.condition.kind == .battery
                ? ",\"percent\":\(percent ?? 0)" : ",\"receiver\":\(JSONText.string(status.receiver ?? ""))"
            all.append(
                found(
                    entry, vehicle, at: now, source: "\(now.milliseconds)", type: nil, text: text,
                    members: members))
        }
        return all
    }

    // MARK: The alert

    private static func found(
        _ entry: RuleBook.Entry, _ vehicle: RuleBook.Vehicle, at time: Timestamp, source: String,
        type: String?, text: String, members: String
    ) -> Found {
        Found(
            alert: Alert(
                for: entry, vehicle, at: time, source: source, type: type, text: text, members: members),
            rule: entry.rule)
    }
}

extension Alert {
    /// - Parameters:
    ///   - source: what it is about: with the rule and the vehicle, it names the alert.
    ///   - members: more members of the object, each begun with a comma; left out where they do not fit.
    init(
        for entry: RuleBook.Entry, _ vehicle: RuleBook.Vehicle, at time: Timestamp, source: String,
        type: String?, text: String, members: String
    ) {
        let rule = entry.rule
        let kind = entry.condition.kind.rawValue
        let digest = Digest.sha256(Array("\(rule.id)/\(vehicle.id)/\(kind)/\(source)".utf8))
        // Neither database takes a NUL in a text, and a vehicle's JSON may say one.
        let text = String(decoding: text.utf8.lazy.filter { $0 != 0 }, as: UTF8.self)
            .prefixOf(bytes: Self.longestText)
        let start =
            "{\"kind\":\"\(kind)\"" + (type.map { ",\"type\":\(JSONText.string($0))" } ?? "")
            + ",\"timestamp\":\"\(time.iso8601)\",\"rule\":\(JSONText.string(rule.name))"
            + ",\"device\":{\"id\":\(vehicle.id),\"name\":\(JSONText.string(vehicle.name))}"
            + ",\"text\":\(JSONText.string(text))"
        let whole = start + members.replacing("\n", with: " ").replacing("\r", with: " ") + "}"
        self.init(
            id: Self.id(time, digest), rule: rule.id, device: vehicle.id, time: time, kind: kind, text: text,
            object: whole.utf8.count <= Self.longestObject ? whole : start + "}")
    }

    /// A UUID of version 8 (RFC 9562): the time, so that those that are found together are in order, and a hash.
    private static func id(_ time: Timestamp, _ digest: [UInt8]) -> UUIDv7 {
        var bytes = Array(digest.prefix(16))
        for place in 0..<6 {
            bytes[place] = UInt8(truncatingIfNeeded: time.milliseconds >> Int64(40 - 8 * place))
        }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        guard let id = UUIDv7(bytes: bytes) else { preconditionFailure("these are 16 bytes") }
        return id
    }
}

extension String {
    /// As much of it as has room, whole characters.
    fileprivate func prefixOf(bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var text = prefix(bytes)
        while text.utf8.count > bytes { text.removeLast() }
        return String(text)
    }
}

extension AlertCondition {
    /// - Parameter fence: the id of the geofence that it is about, if it is about one.
    fileprivate func isMet(by type: String, fence: String?) -> Bool {
        (self.type == nil || self.type == type) && (self.fence == nil || self.fence == fence)
    }

    /// Whether it holds by a status.
    ///
    /// - Parameter isKnown: it has held so far; then it takes more to end.
    /// - Returns: nil when the status does not say.
    fileprivate func holds(_ status: ToldStatus, isKnown: Bool) -> Bool? {
        switch kind {
        case .battery:
            let least = Double(limit) + (isKnown ? AlertFinder.recovery : 0)
            return status.battery.map { $0 * 100 < least }
        case .failing: return status.state == nil ? nil : status.trouble != nil
        case .geofence, .ignition, .power, .trip, .silence, .speed: return nil
        }
    }
}

/// Conditions that were told and are not over.
enum AlertConditions {
    /// - Returns: false when it was told before.
    static func begin(
        _ rule: Int64, of device: Int64, since: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        try !session.run(
            """
            INSERT INTO alert_conditions(device, rule, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
            RETURNING device
            """, .integer(device), .integer(rule), .integer(since.milliseconds)
        ).isEmpty
    }

    static func end(_ rule: Int64, of device: Int64, in session: any Session) throws(StoreError) {
        try session.run(
            "DELETE FROM alert_conditions WHERE device = $1 AND rule = $2", .integer(device), .integer(rule))
    }
}
