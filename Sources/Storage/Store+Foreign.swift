internal import Glibc
internal import Linux
internal import SQLite
public import Tracking

/// The database of another machine, which arrived with a copy of its disk. Its rows must not be uploaded from here:
/// it is put aside like a damaged database, and nothing in it is deleted.
extension Store {
    /// The prefix of the names of such databases.
    public static let foreignPrefix = "beekon.db.foreign-"
    private static let suffixes = ["-journal", "-shm", "-wal", ""]

    /// A name in this directory that no such database uses yet.
    ///
    /// - Parameter time: the current time.
    public static func foreignName(in directory: String, at time: Timestamp) -> String {
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
    /// - Returns: whether a database exists under that name now.
    public static func putAsideForeign(in directory: String, as name: String) throws(StorageError) -> Bool {
        // One that was damaged as well, and not looked through yet: its rows must not come into the next database.
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
        return lstat(directory + "/" + name, &status) == 0
    }

    /// Whether tracking was in progress according to a database that is not open, and may be damaged.
    public static func wasTracking(database: String) -> Bool {
        var status = stat()
        guard lstat(database, &status) == 0, let db = try? Connection(path: database, access: .damaged),
            (try? Writer.openSession(db, isTracking: true)) != nil
        else { return false }
        return true
    }

    /// The newest tracking session, and whether it has no end; one without an end comes first. nil when the database
    /// has none.
    @available(*, noasync, message: "blocks on the disk")
    public func latestTrackingSession() throws(StorageError) -> (
        session: (id: UUIDv7, startedAt: Timestamp), isOpen: Bool
    )? {
        try perform("read session") { (writer) throws(SQLiteError) in
            let row = try writer.db.prepare(
                """
                SELECT id, started_at, stopped_at IS NULL FROM sessions WHERE is_tracking = 1 \
                ORDER BY stopped_at IS NULL DESC, key DESC LIMIT 1
                """)
            guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
            return ((id, Timestamp(milliseconds: row.integer(1))), row.integer(2) != 0)
        }
    }

    /// The tracking session without an end in the database; the newest if there are several.
    @available(*, noasync, message: "blocks on the disk")
    public func openTrackingSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try Writer.openSession(writer.db, isTracking: true)
        }
    }
}
