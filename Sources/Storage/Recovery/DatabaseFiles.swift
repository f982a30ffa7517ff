package import Base
package import Linux
internal import SQLite

/// The database as files of the state directory, while it is not open: whether it is there, what it holds, and its way aside
/// when it turns out to be another machine's. The rows of that must not be uploaded from here: it is moved aside like a
/// damaged database, and nothing in it is deleted.
package struct DatabaseFiles {
    /// The prefix of the names of databases of other machines.
    package static let foreignPrefix = "beekon.db.foreign-"
    private static let name = "beekon.db"
    private static let suffixes = ["-journal", "-shm", "-wal", ""]
    /// Rows that are counted at most.
    private static let countLimit = 1_000_000

    private let directory: String
    private let files: any Files

    /// - Parameter files: where that directory is.
    package init(in directory: String, on files: any Files = SystemFiles()) {
        self.directory = directory
        self.files = files
    }

    private func path(_ name: String = Self.name) -> String { directory + "/" + name }

    /// A name that no other machine's database in this directory uses yet.
    ///
    /// - Parameter time: the current time.
    package func foreignName(at time: Timestamp) -> String {
        let base = Self.foreignPrefix + "\(time.milliseconds / 1000)"
        var name = base
        var number = 1
        while Self.suffixes.contains(where: { (try? files.exists(path(name + $0))) != false }) {
            number += 1
            name = base + "-\(number)"
        }
        return name
    }

    /// Renames the database and its companions, durably. Completes an earlier call that was interrupted. It must not
    /// be open.
    ///
    /// - Returns: whether anything exists under that name now.
    package func moveAside(as name: String) throws(StorageError) -> Bool {
        let quarantine = Quarantine(files)
        // One that was damaged as well and not yet salvaged: its rows must not get into the next database.
        for base in try quarantine.unread(path()) {
            _ = try quarantine.close(base, isSalvaged: false)
        }
        do throws(SystemError) {
            for suffix in Self.suffixes where try files.exists(path() + suffix) {
                try files.rename(path() + suffix, to: path(name + suffix))
            }
            try files.synchronise(directory)
            for suffix in Self.suffixes where try files.exists(path(name + suffix)) { return true }
            return false
        } catch {
            throw StorageError(error)
        }
    }

    /// Renames them back, where nothing has taken their names. `synchronise` makes that durable.
    package func takeBack(_ name: String) throws(StorageError) {
        do throws(SystemError) {
            for suffix in Self.suffixes.reversed() {
                let (aside, own) = (path(name + suffix), path() + suffix)
                guard try files.exists(aside), try !files.exists(own) else { continue }
                try files.rename(aside, to: own)
            }
        } catch {
            throw StorageError(error)
        }
    }

    /// Names of the databases in this directory that were damaged, and could not all be read. Reads the directory.
    package var unsavedNames: [String] { Quarantine(files).unsavedNames(of: path()) }

    /// Whether this directory contains neither a database nor anything to recover one from.
    package var isMissing: Bool {
        ["", "-wal", "-journal"].allSatisfy { suffix in
            // What the disk does not say is no loss yet.
            do { return try files.size(path() + suffix) ?? 0 == 0 } catch { return false }
        }
    }

    /// How many locations the database of this name holds, which may be damaged, as a sentence for the operator.
    package func account(of name: String) -> String {
        let unknown = "what it holds cannot be read"
        let path = path(name)
        do {
            guard try !Quarantine(files).isOrphan(path), try files.size(path) ?? 0 > 0 else { return unknown }
            let db = try Connection(path: path, access: .damaged, vfs: files.vfs)
            let row = try db.prepare(
                """
                SELECT COUNT(*), COUNT(*) - COALESCE(SUM(uploaded != 0), 0) \
                FROM (SELECT uploaded FROM locations LIMIT \(Self.countLimit))
                """)
            guard try row.step() else { return unknown }
            let more = row.integer(0) < Self.countLimit ? "" : "at least "
            return "it holds \(more)\(row.integer(0)) locations, \(row.integer(1)) of them not uploaded"
        } catch {
            return unknown
        }
    }

    /// Whether tracking was in progress according to the database of this name, which may be damaged.
    package func wasTracking(in name: String) -> Bool {
        let path = path(name)
        // Opening one with an orphaned WAL would delete that.
        guard (try? files.exists(path)) == true, (try? Quarantine(files).isOrphan(path)) == false,
            let db = try? Connection(path: path, access: .damaged, vfs: files.vfs),
            (try? Sessions.newestOpen(db, isTracking: true)) != nil
        else { return false }
        return true
    }
}
