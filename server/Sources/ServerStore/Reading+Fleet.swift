package import Base
internal import EnvelopeReader

/// An event of one of many vehicles.
package struct FleetEvent: Sendable {
    package var device: Int64
    /// Name of the vehicle.
    package var name: String
    package var event: StoredEvent
}

/// An alert as people see it.
package struct StoredAlert: Sendable {
    /// How far it has come on one of its ways.
    package enum Delivery: String, Sendable {
        case waiting, sent, failed
    }

    package var alert: Alert
    /// Name of the vehicle.
    package var device: String
    /// Name of the rule; nil: it is gone.
    package var rule: String?
    /// When it was found.
    package var created: Timestamp
    /// nil: it goes to none, or was too old to be sent.
    package var webhook: Delivery?
    package var mail: Delivery?
    /// Why the last attempt of the webhook, or else of a mail, has failed; nil: it has not.
    package var reason: String?
}

extension Reading {
    /// What of the fleet is asked for.
    package struct Selection: Equatable, Sendable {
        package var range: ClosedRange<Timestamp>
        package var device: Int64?
        /// Name of a group.
        package var group: String?
        /// As the interface names it.
        package var kind: String?

        package init(
            range: ClosedRange<Timestamp>, device: Int64? = nil, group: String? = nil, kind: String? = nil
        ) {
            self.range = range
            self.device = device
            self.group = group
            self.kind = kind
        }
    }

    /// A statement that grows, with the values of its parameters; `$1` is the viewer.
    private struct Statement {
        var sql: String
        var values: [Cell]

        /// - Returns: the place of a new parameter.
        mutating func place(_ value: Cell) -> String {
            values.append(value)
            return "$\(values.count)"
        }
    }

    /// Rows of a table that are looked at for one page: of vehicles that the viewer does not see, too.
    private static let looksAtOnce: Int64 = 250

    /// One page of the events of all vehicles, the newest first.
    ///
    /// - Parameters:
    ///   - place: the last event of the page before; nil for the first page.
    ///   - limit: events of a page.
    /// - Returns: the events, which may be fewer, and where the next page begins; nil: that was the last one.
    package static func fleetEvents(
        for viewer: Viewer, _ selection: Selection, before place: Place?, limit: Int,
        from session: any Session
    ) throws(StoreError) -> (events: [FleetEvent], next: Place?) {
        var tables: [(name: String, content: String)] = [
            (name: "events", content: "subject"), (name: "vehicle_events", content: "object"),
        ]
        let crossing: EventRow.Kind? =
            switch selection.kind {
            case "geofence_enter": .enter
            case "geofence_exit": .exit
            default: nil
            }
        if selection.kind != nil { tables.remove(at: crossing == nil ? 0 : 1) }
        guard let start = place ?? self.start(behind: selection.range) else { return ([], nil) }
        // Each table is looked at down to the same place, so that none of the other is passed over.
        var floor: Place?
        for table in tables {
            let edge = try floorPlace(
                of: ListOrder(table: table.name), selection.range, selection.device, before: start,
                from: session)
            if let edge, floor.map({ ($0.time, $0.id) < (edge.time, edge.id) }) ?? true { floor = edge }
        }
        var found: [FleetEvent] = []
        for table in tables {
            let select =
                "SELECT id, time, session, kind, \(table.content), device FROM \(table.name) WHERE 1 = 1"
            var statement = Statement(sql: select, values: [])
            narrow(
                &statement, ListOrder(table: table.name), to: selection.range, selection.device,
                before: start, downTo: floor)
            if let crossing {
                statement.sql += " AND kind = \(statement.place(Cell.integer(Int64(crossing.rawValue))))"
            } else if let kind = selection.kind {
                statement.sql += " AND kind = \(statement.place(Cell.text(kind)))"
            }
            // Rows may come in meanwhile.
            statement.sql += " ORDER BY time DESC, id DESC LIMIT \(looksAtOnce + 1)"
            let rows = try session.run(statement.sql, statement.values)
            // Not joined: with Citus, events are elsewhere.
            let names = try names(
                of: Set(rows.compactMap { $0[5].integer }), for: viewer, group: selection.group, from: session
            )
            for row in rows {
                guard let event = event(row), let device = row[5].integer, let name = names[device] else {
                    continue
                }
                found.append(FleetEvent(device: device, name: name, event: event))
            }
        }
        found.sort { ($0.event.time, $0.event.id) > ($1.event.time, $1.event.id) }
        guard found.count < limit else {
            let events = Array(found.prefix(limit))
            return (events, events.last.map { Place(time: $0.event.time, id: $0.event.id) })
        }
        return (found, floor)
    }

    /// Names of those of some devices that the viewer sees.
    ///
    /// - Parameter group: by name; those in it alone.
    private static func names(
        of devices: Set<Int64>, for viewer: Viewer, group: String?, from session: any Session
    ) throws(StoreError) -> [Int64: String] {
        var names: [Int64: String] = [:]
        var rest = devices.sorted()[...]
        while !rest.isEmpty {
            let (places, numbers) = numbers(rest.prefix(mostAtOnce))
            var statement = Statement(
                sql: "SELECT d.id, d.name FROM devices d WHERE \(Viewer.condition) AND d.id IN (\(places))",
                values: [viewer.cell] + numbers)
            if let group {
                statement.sql +=
                    " AND d.fleet_group = (SELECT id FROM fleet_groups WHERE name = \(statement.place(Cell.text(group))))"
            }
            for row in try session.run(statement.sql, statement.values) {
                if let id = row[0].integer, let name = row[1].text { names[id] = name }
            }
            rest = rest.dropFirst(mostAtOnce)
        }
        return names
    }

    /// Before all others of a moment.
    private static let leastID = Cell.bytes([UInt8](repeating: 0, count: 16)).id

    /// - Returns: the place before all of a range, whose newest are the first.
    private static func start(behind range: ClosedRange<Timestamp>) -> Place? {
        leastID.map { Place(time: Timestamp(milliseconds: range.upperBound.milliseconds + 1), id: $0) }
    }

    /// Rows of a table in the order of a list: by a moment and an id.
    private struct ListOrder {
        var table: String
        var time = "time"
        var id = "id"
        var device = "device"

        static let alerts = ListOrder(table: "alerts a", time: "a.created", id: "a.id", device: "a.device")
    }

    private static func narrow(
        _ statement: inout Statement, _ rows: ListOrder, to range: ClosedRange<Timestamp>, _ device: Int64?,
        before start: Place, downTo floor: Place? = nil
    ) {
        let time = statement.place(Cell.integer(start.time.milliseconds))
        statement.sql += " AND (\(rows.time), \(rows.id)) < (\(time), \(statement.place(Cell.id(start.id))))"
        // The first column by itself: it names the partitions, or is all that the index has.
        statement.sql += " AND \(rows.time) <= \(time)"
        let from = statement.place(Cell.integer(range.lowerBound.milliseconds))
        statement.sql += " AND \(rows.time) >= \(from)"
        if let device { statement.sql += " AND \(rows.device) = \(statement.place(Cell.integer(device)))" }
        if let floor {
            let time = statement.place(Cell.integer(floor.time.milliseconds))
            let id = statement.place(Cell.id(floor.id))
            statement.sql += " AND (\(rows.time), \(rows.id)) >= (\(time), \(id))"
        }
    }

    /// - Returns: down to where a table is looked at; nil: to its end.
    private static func floorPlace(
        of rows: ListOrder, _ range: ClosedRange<Timestamp>, _ device: Int64?, before start: Place,
        from session: any Session
    ) throws(StoreError) -> Place? {
        var statement = Statement(
            sql: "SELECT \(rows.time), \(rows.id) FROM \(rows.table) WHERE 1 = 1", values: [])
        narrow(&statement, rows, to: range, device, before: start)
        statement.sql += " ORDER BY \(rows.time) DESC, \(rows.id) DESC LIMIT 1 OFFSET "
        statement.sql += statement.place(Cell.integer(looksAtOnce))
        guard let row = try session.run(statement.sql, statement.values).first, let time = row[0].integer,
            let id = row[1].id
        else { return nil }
        return Place(time: Timestamp(milliseconds: time), id: id)
    }

    /// One page of the alerts, the newest first.
    ///
    /// - Parameters:
    ///   - rule: its alerts alone; nil: of all rules.
    ///   - place: of the last alert of the page before, by when it was found.
    ///   - limit: alerts of a page.
    /// - Returns: the alerts, which may be fewer, and where the next page begins; nil: that was the last one.
    package static func alerts(
        for viewer: Viewer, _ selection: Selection, rule: Int64?, before place: Place?, limit: Int,
        from session: any Session
    ) throws(StoreError) -> (alerts: [StoredAlert], next: Place?) {
        let select = """
            SELECT a.id, a.device, a.rule, a.time, a.kind, a.text, a.object, d.name, r.name, a.created, a.due,
                a.done, a.failed, a.reason, a.mail,
                (SELECT count(*) FROM alert_recipients m WHERE m.mail = a.mail AND m.due IS NOT NULL),
                (SELECT count(*) FROM alert_recipients m WHERE m.mail = a.mail AND m.failed IS NOT NULL),
                (SELECT max(m.reason) FROM alert_recipients m WHERE m.mail = a.mail AND m.done IS NULL)
            FROM alerts a JOIN devices d ON d.id = a.device LEFT JOIN alert_rules r ON r.id = a.rule
            WHERE \(Viewer.condition)
            """
        guard let start = place ?? self.start(behind: selection.range) else { return ([], nil) }
        // Of all devices: those of one are not found without the others, which have the same index.
        let floor = try floorPlace(of: .alerts, selection.range, nil, before: start, from: session)
        var statement = Statement(sql: select, values: [viewer.cell])
        narrow(
            &statement, .alerts, to: selection.range, selection.device, before: start, downTo: floor)
        if let group = selection.group {
            statement.sql +=
                " AND d.fleet_group = (SELECT id FROM fleet_groups WHERE name = \(statement.place(Cell.text(group))))"
        }
        if let kind = selection.kind { statement.sql += " AND a.kind = \(statement.place(Cell.text(kind)))" }
        if let rule { statement.sql += " AND a.rule = \(statement.place(Cell.integer(rule)))" }
        statement.sql +=
            " ORDER BY a.created DESC, a.id DESC LIMIT \(statement.place(Cell.integer(Int64(limit))))"
        let found = try session.run(statement.sql, statement.values).compactMap { alert($0) }
        guard found.count < limit else {
            return (found, found.last.map { Place(time: $0.created, id: $0.alert.id) })
        }
        return (found, floor)
    }

    private static func alert(_ row: [Cell]) -> StoredAlert? {
        guard let id = row[0].id, let device = row[1].integer, let rule = row[2].integer,
            let time = row[3].integer, let kind = row[4].text, let text = row[5].text,
            let object = row[6].text, let name = row[7].text, let created = row[9].integer
        else { return nil }
        let alert = Alert(
            id: id, rule: rule, device: device, time: Timestamp(milliseconds: time), kind: kind, text: text,
            object: object)
        var stored = StoredAlert(
            alert: alert, device: name, rule: row[8].text, created: Timestamp(milliseconds: created))
        if row[10].integer != nil {
            stored.webhook = .waiting
        } else if row[11].integer != nil {
            stored.webhook = .sent
        } else if row[12].integer != nil {
            stored.webhook = .failed
        }
        // Of the last attempt; what was sent has none.
        stored.reason = row[13].text ?? row[17].text
        if let mail = row[14].integer {
            let (waiting, failed) = (row[15].integer ?? 0, row[16].integer ?? 0)
            stored.mail = mail == 0 || waiting > 0 ? .waiting : failed > 0 ? .failed : .sent
        }
        return stored
    }
}
