internal import Glibc
internal import Linux
internal import SQLite
public import Tracking

/// The database of another machine, which has come here with a copy of its disk. Its rows are not ours to upload: they are
/// put aside like a damaged database, and nothing of them is deleted.
extension Store {
    /// The names of such databases begin with it.
    public static let foreignPrefix = "beekon.db.foreign-"
    private static let suffixes = ["-journal", "-shm", "-wal", ""]

    /// A name in this directory that no such database has yet.
    ///
    /// - Parameter time: of now, Unix milliseconds.
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

    /// Renames the database, with its companions, durably. Carries on where an earlier call was cut. It must not be open.
    ///
    /// - Returns: whether there is one under that name now.
    public static func putAsideForeign(in directory: String, as name: String) throws(StorageError) -> Bool {
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

    /// Whether tracking was under way by what a database says that is not open, and may be damaged.
    public static func wasTracking(database: String) -> Bool {
        var status = stat()
        guard lstat(database, &status) == 0, let db = try? Connection(path: database, access: .damaged),
            (try? Writer.openSession(db, isTracking: true)) != nil
        else { return false }
        return true
    }

    /// The session of tracking that has no end in the database; the newest of several.
    @available(*, noasync, message: "blocks on the disk")
    public func openTrackingSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try Writer.openSession(writer.db, isTracking: true)
        }
    }
}
