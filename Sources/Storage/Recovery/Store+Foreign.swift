package import Base
package import Linux
internal import SQLite

/// The database of another machine, which arrived with a copy of its disk. Its rows must not be uploaded from here:
/// it is moved aside like a damaged database, and nothing in it is deleted.
extension Store {
    /// The prefix of the names of such databases.
    package static let foreignPrefix = "beekon.db.foreign-"
    private static let suffixes = ["-journal", "-shm", "-wal", ""]

    /// A name that no such database in this directory uses yet.
    ///
    /// - Parameter time: the current time.
    package static func foreignName(
        in directory: String, at time: Timestamp, on files: any Files = SystemFiles()
    ) -> String {
        let base = foreignPrefix + "\(time.milliseconds / 1000)"
        var name = base
        var number = 1
        while Self.suffixes.contains(where: { (try? files.exists(directory + "/" + name + $0)) != false }) {
            number += 1
            name = base + "-\(number)"
        }
        return name
    }

    /// Renames the database and its companions, durably. Completes an earlier call that was interrupted. It must not
    /// be open.
    ///
    /// - Returns: whether anything exists under that name now.
    package static func moveAsideForeign(
        in directory: String, as name: String, on files: any Files = SystemFiles()
    ) throws(StorageError) -> Bool {
        let quarantine = Quarantine(files)
        // One that was damaged as well and not yet salvaged: its rows must not get into the next database.
        for base in try quarantine.unread(directory + "/beekon.db") {
            _ = try quarantine.close(base, isSalvaged: false)
        }
        do throws(SystemError) {
            for suffix in suffixes where try files.exists(directory + "/beekon.db" + suffix) {
                try files.rename(directory + "/beekon.db" + suffix, to: directory + "/" + name + suffix)
            }
            try files.synchronise(directory)
            for suffix in suffixes where try files.exists(directory + "/" + name + suffix) { return true }
            return false
        } catch {
            throw StorageError(error)
        }
    }

    /// Renames them back, where nothing has taken their names. `synchronise` makes that durable.
    package static func takeBackForeign(
        in directory: String, as name: String, on files: any Files = SystemFiles()
    ) throws(StorageError) {
        do throws(SystemError) {
            for suffix in suffixes.reversed() {
                let (aside, own) = (directory + "/" + name + suffix, directory + "/beekon.db" + suffix)
                guard try files.exists(aside), try !files.exists(own) else { continue }
                try files.rename(aside, to: own)
            }
        } catch {
            throw StorageError(error)
        }
    }

    /// Names of the databases in this directory that were damaged, and could not all be read. Reads the directory.
    package static func unsavedDatabases(
        in directory: String, on files: any Files = SystemFiles()
    ) -> [String] {
        Quarantine(files).unsavedNames(of: directory + "/beekon.db")
    }

    /// Rows that are counted at most.
    private static let countLimit = 1_000_000

    /// How many locations a database holds that is not open and may be damaged, as a sentence for the operator.
    package static func account(
        ofDatabase path: String, on files: any Files = SystemFiles()
    ) -> String {
        let unknown = "what it holds cannot be read"
        do {
            guard try !Quarantine(files).isOrphan(path), try files.size(path) ?? 0 > 0 else { return unknown }
            let db = try Connection(path: path, access: .damaged, vfs: files.vfs)
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
    package static func isMissing(in directory: String, on files: any Files = SystemFiles()) -> Bool {
        ["", "-wal", "-journal"].allSatisfy { suffix in
            // What the disk does not say is no loss yet.
            do { return try files.size(directory + "/beekon.db" + suffix) ?? 0 == 0 } catch { return false }
        }
    }

    /// Whether tracking was in progress according to a database that is not open, and may be damaged.
    package static func wasTracking(
        database: String, on files: any Files = SystemFiles()
    ) -> Bool {
        // Opening one with an orphaned WAL would delete that.
        guard (try? files.exists(database)) == true, (try? Quarantine(files).isOrphan(database)) == false,
            let db = try? Connection(path: database, access: .damaged, vfs: files.vfs),
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
