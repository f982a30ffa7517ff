package import Base

/// One connection to the database, which one thread uses. SQL that both databases understand goes through `run`; what has
/// to be fast, and differs, has a method of its own.
package protocol Session: AnyObject {
    /// Runs a statement to its end.
    ///
    /// - Parameters:
    ///   - sql: with parameters `$1`, `$2` …, numbered in the order in which they first appear: SQLite counts them so.
    ///   - values: as many as there are parameters.
    /// - Returns: its rows.
    func run(_ sql: String, _ values: [Cell]) throws(StoreError) -> [[Cell]]

    /// Commits when `body` returns, and rolls back when it throws.
    func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value

    /// Stores a group of batches in one transaction. A batch that is in the group twice is stored once.
    ///
    /// - Returns: receipts in the order of the group, when COMMIT has returned.
    func store(_ group: [Submission]) throws(StoreError) -> [Receipt]

    /// Which batches of a group have to wait until something is made for them, as far as this session knows.
    ///
    /// - Returns: their places in the group.
    func unready(_ group: [Submission]) throws(StoreError) -> [Int]

    /// Makes some of what batches need, as far as their device may have it.
    ///
    /// - Parameter group: of one device.
    func makeRoom(for group: [Submission]) throws(StoreError) -> StorageRoom

    /// What was known to be there is looked for anew.
    func doubtRoom()

    /// The database's own clock; nil when it has none but this machine's.
    func clock() throws(StoreError) -> Timestamp?

    /// Makes room for what will come; see `Upkeep`.
    func prepare(at now: Timestamp) throws(StoreError)

    /// This moment, by numbers of transactions; see `Changes`.
    func moment() throws(StoreError) -> Changes.Moment

    /// Removes changes that another cluster has numbered.
    func forgetForeignChanges() throws(StoreError)

    /// Within a transaction, before anything else of it: waits for the uploads that are under way; those that come later wait for
    /// this transaction, and see what it has changed.
    func excludeUploads() throws(StoreError)

    /// Within a transaction, before anything else of it: it is one of an upload.
    func joinUploads() throws(StoreError)

    /// Removes some of what is older; see `Retention`.
    ///
    /// - Returns: whether there is more to remove.
    func prune(before time: Timestamp) throws(StoreError) -> Bool

    /// Removes some of what is remembered of older batches; see `Retention`.
    ///
    /// - Returns: whether there is more to remove.
    func forgetBatches(before time: Timestamp) throws(StoreError) -> Bool

    /// What the database says of itself.
    func facts() throws(StoreError) -> Upkeep.Facts

    /// Writes a copy of the database; see `Upkeep`.
    func copy(to path: String) throws(StoreError)

    /// - Throws: `.gone` when what was committed is in a file that nobody finds again.
    func confirm() throws(StoreError)

    /// Behind a SELECT that takes rows to work at: what others work at is left to them.
    var skippingLocked: String { get }

    /// Tables with rows of devices that only this kind of database has.
    var ownTables: [String] { get }

    /// A condition: the row of `outbox` comes before all that are not committed yet.
    var isBehindAll: String { get }

    /// Whether this process forwards to a target; see `Outbox`.
    func isOnly(_ target: String) throws(StoreError) -> Bool

    /// Whether it can go on after an error; if not, it is closed and another one opened.
    var isUsable: Bool { get }
}

/// What there is for the rows of batches.
package struct StorageRoom: Equatable, Sendable {
    /// Whether all is there, for each of them.
    package var isWhole: [Bool]
    /// More may be made.
    package var isMore: Bool
}

extension Session {
    /// Runs a statement, with the values as arguments.
    @discardableResult
    package func run(_ sql: String, _ values: Cell...) throws(StoreError) -> [[Cell]] {
        try run(sql, values)
    }
}
