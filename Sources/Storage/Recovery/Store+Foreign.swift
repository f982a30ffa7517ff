package import Base
internal import Glibc
internal import Linux
internal import SQLite

/// The database of another machine, which arrived with a copy of its disk. Its rows must not be uploaded from here:
/// it is put aside like a damaged database, and nothing in it is deleted.
extension Store {
    /// The prefix of the names of such databases.
    package static let foreignPrefix = "beekon.db.foreign-"
    private static let suffixes = ["-journal", "-shm", "-wal", ""]

    /// A name that no such database in this directory uses yet.
    ///
    /// - Parameter time: the current time.
    package static func foreignName(in directory: String, at time: Timestamp) -> String {
        let base = foreignPrefix + "\(time.milliseconds / 1000)"
        var name = base
        var number = 1
        var status = stat()
        while Self.suffixes.contains(where: { lstat(directory + "/" + name + $0, &status) == 0 }) {
            number += 1
            name = base + "-\(number)"
        }
        return name
    }

    /// Renames the database and its companions, durably. Completes an earlier call that was interrupted. It must not
    /// be open.
    ///
    /// - Returns: whether anything exists under that name now.
    package static func putAsideForeign(in directory: String, as name: String) throws(StorageError) -> Bool {
        // One that was damaged as well and not yet salvaged: its rows must not get into the next database.
        for base in try Quarantine.unread(directory + "/beekon.db") {
            _ = try Quarantine.close(base, isSalvaged: false)
        }
        var status = stat()
        for suffix in suffixes where lstat(directory + "/beekon.db" + suffix, &status) == 0 {
            guard rename(directory + "/beekon.db" + suffix, directory + "/" + name + suffix) == 0 else {
                throw StorageError(SystemError("put aside \(directory)/beekon.db\(suffix)"))
            }
        }
        do {
            try StateDirectory.synchronise(directory)
        } catch {
            throw StorageError(error)
        }
        return suffixes.contains { lstat(directory + "/" + name + $0, &status) == 0 }
    }

    /// Renames them back, where nothing has taken their names. `synchronise` makes that durable.
    package static func takeBackForeign(in directory: String, as name: String) throws(StorageError) {
        var status = stat()
        for suffix in suffixes.reversed()
        where lstat(directory + "/" + name + suffix, &status) == 0
            && lstat(directory + "/beekon.db" + suffix, &status) != 0
        {
            guard rename(directory + "/" + name + suffix, directory + "/beekon.db" + suffix) == 0 else {
                throw StorageError(SystemError("take back \(directory)/\(name)\(suffix)"))
            }
        }
    }

    /// Names of the databases in this directory that were damaged, and could not all be read. Reads the directory.
    package static func unsavedDatabases(in directory: String) -> [String] {
        Quarantine.unsavedNames(of: directory + "/beekon.db")
    }

    /// Rows that are counted at most.
    private static let countLimit = 1_000_000

    /// How many locations a database holds that is not open and may be damaged, as a sentence for the operator.
    package static func account(ofDatabase path: String) -> String {
        let unknown = "what it holds cannot be read"
        guard !Quarantine.isOrphan(path), fileSize(path) ?? 0 > 0 else { return unknown }
        do {
            let db = try Connection(path: path, access: .damaged)
            let row = try db.prepare(
                """
                SELECT COUNT(*), COUNT(*) - COALESCE(SUM(uploaded != 0), 0) \
                FROM (SELECT uploaded FROM locations LIMIT \(countLimit))
                """)
            guard try row.step() else { return unknown }
            let more = row.integer(0) < countLimit ? "" : "at least "
            return "it holds \(more)\(row.integer(0)) locations, \(row.integer(1)) of them not uploaded"
        } catch {
            return unknown
        }
    }

    /// Whether this directory contains neither a database nor anything to recover one from.
    package static func isMissing(in directory: String) -> Bool {
        ["", "-wal", "-journal"].allSatisfy { fileSize(directory + "/beekon.db" + $0) ?? 0 == 0 }
    }

    /// Whether tracking was in progress according to a database that is not open, and may be damaged.
    package static func wasTracking(database: String) -> Bool {
        var status = stat()
        // Opening one with an orphaned WAL would delete that.
        guard lstat(database, &status) == 0, !Quarantine.isOrphan(database),
            let db = try? Connection(path: database, access: .damaged),
            (try? Sessions.newestOpen(db, isTracking: true)) != nil
        else { return false }
        return true
    }

    /// The newest tracking session, and whether it has no end; one without an end comes first. nil when the database
    /// has none.
    @available(*, noasync, message: "blocks on the disk")
    package func latestTrackingSession() throws(StorageError) -> (
        session: (id: UUIDv7, startedAt: Timestamp), isOpen: Bool
    )? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.latestTracking()
        }
    }

    /// The tracking session without an end in the database; the newest if there are several.
    @available(*, noasync, message: "blocks on the disk")
    package func openTrackingSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.newestOpen(isTracking: true)
        }
    }
}
