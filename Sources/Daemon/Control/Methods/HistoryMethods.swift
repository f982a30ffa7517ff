internal import Base
internal import ControlProtocol
internal import Storage
internal import Tracking

/// What is stored, and its deletion.
enum HistoryMethods: MethodGroup {
    static var methods: [Method] {
        Method.list(Wire.GetLocations.self, for: .members) { _, parameters in
            var session: UUIDv7?
            if let text = parameters.sessionId {
                guard let id = UUIDv7(text) else { throw ControlError.invalidParameter("session_id") }
                session = id
            }
            return LocationCursor(
                from: try parameters.from.map(Timestamp.init(checking:)),
                to: try parameters.to.map(Timestamp.init(checking:)), session: session)
        } encode: { rows, continues in
            try Reply.encode(page: rows.map { Wire.Location($0) }, continues: continues)
        }
        Method.question(Wire.GetSessions.self, for: .members) { handlers, _, _ in
            let sessions = try handlers.read { (history) throws(StorageError) in try history.allSessions() }
            return .init(sessions: sessions.map { Wire.Session($0) })
        }
        Method.question(Wire.GetTrips.self, for: .members) { handlers, parameters, _ in
            let from = try parameters.from.map(Timestamp.init(checking:))
            let to = try parameters.to.map(Timestamp.init(checking:))
            let ended = try handlers.read { (history) throws(StorageError) in
                try history.trips(from: from, to: to)
            }
            var trips = ended.map { Wire.Trip($0) }
            let open = handlers.hub.board.readerSnapshot.trip
            if let open, open.hasStarted, from.map({ open.last.time >= $0 }) ?? true,
                to.map({ open.start.time <= $0 }) ?? true
            {
                trips.append(Wire.Trip(open))
            }
            return .init(trips: trips)
        }
        Method.list(Wire.GetLocationCount.self, for: .members) { _, parameters in
            CountCursor(to: try parameters.before.map(Timestamp.init(checking:)))
        } result: { parts in
            .init(locations: parts.reduce(0) { $0 + $1.all }, unsent: parts.reduce(0) { $0 + $1.unsent })
        }
        Method.command(Wire.DeleteLocations.self, for: .admins) { parameters in
            .delete(before: try parameters.before.map(Timestamp.init(checking:)))
        } result: { completion in
            guard case .removal(let removed, let kept) = completion else { return nil }
            return .init(removed: removed, kept: kept.isEmpty ? nil : kept)
        }
        Method.list(Wire.GetGeofenceEvents.self, for: .members) { _, parameters in
            EventCursor(
                from: try parameters.from.map(Timestamp.init(checking:)),
                to: try parameters.to.map(Timestamp.init(checking:)), kinds: [])
        } result: { rows in
            .init(events: rows.compactMap(\.crossing))
        }
        Method.list(Wire.GetEvents.self, for: .members) { _, parameters in
            var (crossings, kinds) = (true, Set(VehicleEvent.Kind.allCases))
            if let names = parameters.kinds {
                let wanted = Set(names)
                crossings = wanted.contains("geofence")
                kinds = Set(wanted.compactMap { VehicleEvent.Kind(rawValue: $0) })
                guard kinds.count + (crossings ? 1 : 0) == wanted.count, !wanted.isEmpty else {
                    throw ControlError.invalidParameter("kinds")
                }
            }
            return EventCursor(
                from: try parameters.from.map(Timestamp.init(checking:)),
                to: try parameters.to.map(Timestamp.init(checking:)), crossings: crossings, kinds: kinds)
        } result: { rows in
            .init(events: rows.map { Wire.VehicleEvent($0) })
        }
        // Results of commands may be long.
        Method.list(Wire.GetCommands.self, for: .members, pageLimit: 200) { _, _ in
            CommandCursor()
        } result: { rows in
            .init(commands: rows.map { Wire.ServerCommand($0) })
        }
    }
}

extension RecordedEvent {
    /// nil when it is none.
    fileprivate var crossing: Wire.GeofenceEvent? {
        if case .crossing(let event) = self { Wire.GeofenceEvent(event) } else { nil }
    }
}
