internal import Base
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Tracking

/// What is streamed page by page, and how far it has got.
enum Pages {
    case locations(History.Cursor)
    case rejected(History.RejectedCursor)
    case geofenceEvents(History.EventCursor)
    case events(History.EventCursor)
    case commands(History.CommandCursor)
    case count(History.CountCursor)
}

extension Handlers {
    /// History reads come from the read-only connection, which is opened for each and closed after it: so none of them
    /// holds on to a database that has been moved aside meanwhile.
    func openHistory() throws -> History {
        do {
            return try History(directory: status.directory.path, on: status.directory.files)
        } catch {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func locations(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetLocations.self)
        var session: UUIDv7?
        if let text = parameters.sessionId {
            guard let id = UUIDv7(text) else { throw ControlError.invalidParameter("session_id") }
            session = id
        }
        var cursor = History.Cursor(
            from: try parameters.from.map(Timestamp.init(checking:)),
            to: try parameters.to.map(Timestamp.init(checking:)), session: session)
        if call.more { return .history(.locations(cursor)) }
        let rows = try inOneReply { try $0.next(&cursor, limit: $1) }
        return .reply(
            try Reply.encode(Wire.GetLocations.self, .init(locations: rows.map { Wire.Location($0) })))
    }

    /// One page of a streamed history, and whether it is the last.
    func page(_ history: borrowing History?, _ pages: inout Pages) -> (bytes: [UInt8], isLast: Bool) {
        do {
            switch pages {
            case .locations(var cursor):
                guard let rows = try history?.next(&cursor) else { break }
                pages = .locations(cursor)
                let bytes = try Reply.encode(
                    page: rows.map { Wire.Location($0) }, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            case .rejected(var cursor):
                guard let rows = try history?.next(&cursor) else { break }
                pages = .rejected(cursor)
                let result = Wire.GetRejected.Result(rejected: rows.map { Wire.Rejected($0) })
                let bytes = try Reply.encode(Wire.GetRejected.self, result, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            case .events(var cursor):
                guard let rows = try history?.next(&cursor) else { break }
                pages = .events(cursor)
                let result = Wire.GetEvents.Result(events: rows.map { Wire.VehicleEvent($0) })
                let bytes = try Reply.encode(Wire.GetEvents.self, result, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            case .geofenceEvents(var cursor):
                guard let rows = try history?.next(&cursor) else { break }
                pages = .geofenceEvents(cursor)
                let result = Wire.GetGeofenceEvents.Result(events: rows.compactMap(\.crossing))
                let bytes = try Reply.encode(Wire.GetGeofenceEvents.self, result, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            case .commands(var cursor):
                guard let rows = try history?.next(&cursor, limit: Self.commandPage) else { break }
                pages = .commands(cursor)
                let result = Wire.GetCommands.Result(commands: rows.map { Wire.ServerCommand($0) })
                let bytes = try Reply.encode(Wire.GetCommands.self, result, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            case .count(var cursor):
                guard let (all, unsent) = try history?.count(&cursor) else { break }
                pages = .count(cursor)
                let result = Wire.GetLocationCount.Result(locations: all, unsent: unsent)
                let bytes = try Reply.encode(Wire.GetLocationCount.self, result, continues: !cursor.isAtEnd)
                return (bytes, cursor.isAtEnd)
            }
            return (Reply.encode(.expectedMore), true)
        } catch {
            return (Reply.encode(.storageFailure(reason: "\(error)")), true)
        }
    }

    func count(_ call: Call) throws -> Answer {
        let before = try call.parameters(of: Wire.GetLocationCount.self).before
        var cursor = History.CountCursor(to: try before.map(Timestamp.init(checking:)))
        if call.more { return .history(.count(cursor)) }
        do {
            let (all, unsent) = try openHistory().count(&cursor)
            guard cursor.isAtEnd else { throw ControlError.tooMany(limit: History.countLimit) }
            return .reply(
                try Reply.encode(Wire.GetLocationCount.self, .init(locations: all, unsent: unsent)))
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func sessions(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetSessions.self)
        let history = try openHistory()
        do {
            let sessions = try history.allSessions().map { Wire.Session($0) }
            return .reply(try Reply.encode(Wire.GetSessions.self, .init(sessions: sessions)))
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func trips(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetTrips.self)
        let from = try parameters.from.map(Timestamp.init(checking:))
        let to = try parameters.to.map(Timestamp.init(checking:))
        let history = try openHistory()
        do {
            var trips = try history.trips(from: from, to: to).map { Wire.Trip($0) }
            let open = hub.board.readerSnapshot.trip
            if let open, open.hasStarted, from.map({ open.last.time >= $0 }) ?? true,
                to.map({ open.start.time <= $0 }) ?? true
            {
                trips.append(Wire.Trip(open))
            }
            return .reply(try Reply.encode(Wire.GetTrips.self, .init(trips: trips)))
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    func rejected(_ call: Call) throws -> Answer {
        let name = try call.parameters(of: Wire.GetRejected.self).destination
        var cursor = History.RejectedCursor(of: try dispatcher.known(DestinationName(checking: name)))
        if call.more { return .history(.rejected(cursor)) }
        let rows = try inOneReply { try $0.next(&cursor, limit: $1) }
        return .reply(
            try Reply.encode(Wire.GetRejected.self, .init(rejected: rows.map { Wire.Rejected($0) })))
    }

    func geofenceEvents(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetGeofenceEvents.self)
        var cursor = History.EventCursor(
            from: try parameters.from.map(Timestamp.init(checking:)),
            to: try parameters.to.map(Timestamp.init(checking:)), kinds: [])
        if call.more { return .history(.geofenceEvents(cursor)) }
        let events = try inOneReply { try $0.next(&cursor, limit: $1) }
        return .reply(
            try Reply.encode(
                Wire.GetGeofenceEvents.self, .init(events: events.compactMap(\.crossing))))
    }

    /// Commands in a page: their results may be long.
    private static let commandPage = 200

    func commands(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetCommands.self)
        var cursor = History.CommandCursor()
        if call.more { return .history(.commands(cursor)) }
        let rows = try inOneReply { try $0.next(&cursor, limit: $1) }
        return .reply(
            try Reply.encode(Wire.GetCommands.self, .init(commands: rows.map { Wire.ServerCommand($0) })))
    }

    func events(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetEvents.self)
        var (crossings, kinds) = (true, Set(VehicleEvent.Kind.allCases))
        if let names = parameters.kinds {
            let wanted = Set(names)
            crossings = wanted.contains("geofence")
            kinds = Set(wanted.compactMap { VehicleEvent.Kind(rawValue: $0) })
            guard kinds.count + (crossings ? 1 : 0) == wanted.count, !wanted.isEmpty else {
                throw ControlError.invalidParameter("kinds")
            }
        }
        var cursor = History.EventCursor(
            from: try parameters.from.map(Timestamp.init(checking:)),
            to: try parameters.to.map(Timestamp.init(checking:)), crossings: crossings, kinds: kinds)
        if call.more { return .history(.events(cursor)) }
        let events = try inOneReply { try $0.next(&cursor, limit: $1) }
        return .reply(
            try Reply.encode(Wire.GetEvents.self, .init(events: events.map { Wire.VehicleEvent($0) })))
    }

    /// All rows, as long as one reply may hold them.
    private func inOneReply<Row>(
        _ read: (borrowing History, _ limit: Int) throws -> [Row]
    ) throws -> [Row] {
        let history = try openHistory()
        do {
            let rows = try read(history, History.pageLimit + 1)
            guard rows.count <= History.pageLimit else {
                throw ControlError.tooMany(limit: History.pageLimit)
            }
            return rows
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }
}

extension RecordedEvent {
    /// nil when it is none.
    fileprivate var crossing: Wire.GeofenceEvent? {
        if case .crossing(let event) = self { Wire.GeofenceEvent(event) } else { nil }
    }
}
