internal import SQLite

/// A place among the commands that are known, in the order of their arrival.
package struct CommandCursor: HistoryCursor {
    private var last = Int64.min
    package private(set) var isAtEnd = false

    /// The beginning.
    package init() {}

    package mutating func next(
        limit: Int, in history: borrowing History
    ) throws(StorageError) -> [CommandRecord] {
        do {
            let page = try Commands.page(after: last, limit: limit, history.db)
            last = page.last ?? last
            isAtEnd = page.isLast
            return page.records
        } catch {
            throw StorageError(error)
        }
    }
}
