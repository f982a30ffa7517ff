internal import SQLite

extension History {
    /// A place among the commands that are known.
    package struct CommandCursor: Sendable {
        var last = Int64.min
        /// The commands have been read to their end.
        package fileprivate(set) var isAtEnd = false

        /// The beginning.
        package init() {}
    }

    /// The next commands in the order of their arrival, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    package func next(
        _ cursor: inout CommandCursor, limit: Int = pageLimit
    ) throws(StorageError) -> [CommandRecord] {
        do {
            let page = try Commands.page(after: cursor.last, limit: limit, statements.db)
            cursor.last = page.last ?? cursor.last
            cursor.isAtEnd = page.isLast
            return page.records
        } catch {
            throw StorageError(error)
        }
    }
}
