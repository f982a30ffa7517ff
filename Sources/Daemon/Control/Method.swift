internal import Base
internal import ControlProtocol
internal import Storage

/// One method of the control interface: who may call it, and what answers it. `Methods` has all of them.
struct Method: Sendable {
    /// Who may call it, of those who may connect.
    enum Audience: Equatable, Sendable {
        /// Everybody who may connect.
        case members
        /// Administrators, who may delete data and say where it goes.
        case admins
    }

    /// Answers a call whose right has been checked.
    typealias Action = @Sendable (Handlers, Handlers.Request) throws -> Handlers.Answer

    /// With the interface, such as `org.beekond.Tracker.Start`.
    let name: String
    let audience: Audience
    let action: Action

    /// Calls change nothing, and are not worth a line in the log: so methods with these names promise.
    var isQuestion: Bool {
        let member = name.split(separator: ".").last ?? ""
        return member.hasPrefix("Get") || member.hasPrefix("List")
    }

    /// A method with an answer of its own kind.
    ///
    /// - Parameter action: is handed the parameters, of which names and types are right.
    init<M: ControlMethod>(
        _ method: M.Type, for audience: Audience,
        action: @escaping @Sendable (Handlers, Handlers.Request, M.Parameters) throws -> Handlers.Answer
    ) {
        name = M.name
        self.audience = audience
        self.action = { handlers, request in
            try action(handlers, request, request.call.parameters(of: method))
        }
    }

    /// A method that is answered at once.
    static func question<M: ControlMethod>(
        _ method: M.Type, for audience: Audience,
        result: @escaping @Sendable (Handlers, M.Parameters, BootInstant) throws -> M.Result
    ) -> Method {
        Method(method, for: audience) { handlers, request, parameters in
            .reply(try Reply.encode(method, result(handlers, parameters, request.now)))
        }
    }

    /// A method that becomes a command.
    ///
    /// - Parameter result: nil: that is no outcome of this command.
    static func command<M: ControlMethod>(
        _ method: M.Type, for audience: Audience,
        command: @escaping @Sendable (M.Parameters) throws -> Command,
        result: @escaping @Sendable (Completion) -> M.Result?
    ) -> Method {
        Method(method, for: audience) { handlers, request, parameters in
            try handlers.give(command(parameters), request, as: method, result)
        }
    }

    /// A method that becomes a command with nothing to tell.
    static func command<M: ControlMethod>(
        _ method: M.Type, for audience: Audience,
        command: @escaping @Sendable (M.Parameters) throws -> Command
    ) -> Method where M.Result == Wire.Empty {
        self.command(method, for: audience, command: command) { completion in
            if case .done = completion { Wire.Empty() } else { nil }
        }
    }

    /// A method that lists what is stored: with `more` page by page, else in one reply.
    ///
    /// - Parameters:
    ///   - pageLimit: rows of a page; in one reply there may be as many as the cursor allows.
    ///   - encode: makes a reply of rows; others may follow it.
    static func list<M: ControlMethod, Cursor: HistoryCursor>(
        _ method: M.Type, for audience: Audience, pageLimit: Int = Cursor.pageLimit,
        cursor: @escaping @Sendable (Handlers, M.Parameters) throws -> Cursor,
        encode: @escaping @Sendable (_ rows: [Cursor.Row], _ continues: Bool) throws -> [UInt8]
    ) -> Method {
        Method(method, for: audience) { handlers, request, parameters in
            var cursor = try cursor(handlers, parameters)
            guard request.call.more else {
                let rows = try handlers.read { (history) throws(StorageError) in
                    try history.next(&cursor, limit: Cursor.pageLimit + 1)
                }
                guard cursor.isAtEnd else { throw ControlError.tooMany(limit: Cursor.pageLimit) }
                return .reply(try encode(rows, false))
            }
            return .pages(
                HistoryPages(try handlers.openHistory()) { history in
                    let rows = try history.next(&cursor, limit: pageLimit)
                    return (try encode(rows, !cursor.isAtEnd), cursor.isAtEnd)
                })
        }
    }

    /// A method that lists what is stored, of which a page is as any other reply.
    static func list<M: ControlMethod, Cursor: HistoryCursor>(
        _ method: M.Type, for audience: Audience, pageLimit: Int = Cursor.pageLimit,
        cursor: @escaping @Sendable (Handlers, M.Parameters) throws -> Cursor,
        result: @escaping @Sendable ([Cursor.Row]) -> M.Result
    ) -> Method {
        list(method, for: audience, pageLimit: pageLimit, cursor: cursor) { rows, continues in
            try Reply.encode(method, result(rows), continues: continues)
        }
    }
}

/// What one client reads page by page, through a connection to the database that lasts as long.
final class HistoryPages {
    private let history: History
    private let read: (borrowing History) throws -> (bytes: [UInt8], isLast: Bool)

    /// - Parameter read: makes a reply of the next page.
    init(
        _ history: consuming History,
        _ read: @escaping (borrowing History) throws -> (bytes: [UInt8], isLast: Bool)
    ) {
        self.history = history
        self.read = read
    }

    /// The reply with the next page, and whether it is the last.
    func next() -> (bytes: [UInt8], isLast: Bool) {
        do {
            return try read(history)
        } catch {
            return (Reply.encode(.storageFailure(reason: "\(error)")), true)
        }
    }
}
