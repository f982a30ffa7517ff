internal import Base
internal import Glibc
internal import Linux
internal import SQLite
internal import Tracking

/// What a deletion does besides deleting rows, so that no position remains: in the memory of the sessions, in
/// databases that were put aside, in free space of this one, in its log.
///
/// A deletion is recorded before its first step and the record is removed after its last, so that one that is
/// interrupted is completed at the next start.
extension Writer {
    private static let mark = "erasing"
    private static let markedCutoff = "erasing_before"
    private static let markedSeq = "erasing_seq"
    private static let markedEventSeq = "erasing_event_seq"
    /// Values of `mark`; 0: nothing is being deleted.
    private static let everything: Int64 = 1
    private static let upToTime: Int64 = 2

    /// Maximum number of bytes in remaining rows for a deletion with a cutoff to rewrite the database: the copy is
    /// made in memory, and fixes wait for it. 100,000 locations take less.
    private static let largestCopy: Int64 = 16 << 20

    /// Milliseconds for which each attempt to empty the log waits for readers, and the number of attempts.
    private static let readerPatience = 50
    private static let attempts = 400

    /// Requests that are remembered at most.
    static let requestLimit = 8

    /// Records that everything at or before `cutoff`, or everything that is there now, is to be deleted.
    ///
    /// What an earlier deletion has left is done first, within its own bounds: "everything up to then", merged with a
    /// later and smaller request, would delete all that has come since.
    func beginDeletion(before cutoff: Timestamp?) throws(SQLiteError) -> Deletion {
        let new = Deletion.Bounds(
            cutoff: cutoff, maxSeq: tally.nextSeq - 1, maxEventSeq: events.nextSeq - 1)
        let bounds = try markedBounds().filter { !new.covers($0) } + [new]
        guard bounds.count <= Self.requestLimit else {
            throw SQLiteError(
                operation: "delete", code: .busy,
                message: "too many earlier deletions were not completed; restart beekond to complete them")
        }
        try db.transaction { () throws(SQLiteError) in try mark(bounds) }
        return Deletion(bounds)
    }

    /// Part of a transaction.
    func mark(_ bounds: [Deletion.Bounds]) throws(SQLiteError) {
        for (index, one) in bounds.enumerated() {
            let suffix = Self.suffix(index)
            try setCounter(Self.mark + suffix, one.cutoff == nil ? Self.everything : Self.upToTime)
            try setCounter(Self.markedCutoff + suffix, one.cutoff?.milliseconds ?? 0)
            try setCounter(Self.markedSeq + suffix, one.maxSeq)
            try setCounter(Self.markedEventSeq + suffix, one.maxEventSeq)
        }
        guard bounds.count < Self.requestLimit else { return }
        try setCounter(Self.mark + Self.suffix(bounds.count), 0)
    }

    private static func suffix(_ index: Int) -> String { index == 0 ? "" : "_\(index + 1)" }

    private func markedBounds() throws(SQLiteError) -> [Deletion.Bounds] {
        try Self.markedBounds { (name) throws(SQLiteError) in try counter(name) }
    }

    /// - Parameter counter: the value of a counter; 0 when there is none of that name.
    static func markedBounds(
        _ counter: (String) throws(SQLiteError) -> Int64
    ) throws(SQLiteError) -> [Deletion.Bounds] {
        var found: [Deletion.Bounds] = []
        while found.count < requestLimit {
            let suffix = suffix(found.count)
            let mark = try counter(Self.mark + suffix)
            guard mark == everything || mark == upToTime else { break }
            found.append(
                Deletion.Bounds(
                    cutoff: mark == everything
                        ? nil : Timestamp(milliseconds: try counter(markedCutoff + suffix)),
                    maxSeq: try counter(markedSeq + suffix),
                    maxEventSeq: try counter(markedEventSeq + suffix)))
        }
        return found
    }

    /// A deletion has begun and is not completed.
    var isErasing: Bool {
        get throws(SQLiteError) { try counter(Self.mark) != 0 }
    }

    /// A deletion that was interrupted.
    func unfinishedDeletion() throws(SQLiteError) -> Deletion? {
        let bounds = try markedBounds()
        return bounds.isEmpty ? nil : Deletion(bounds)
    }

    /// One step, after the rows have been deleted.
    mutating func erase(_ deletion: inout Deletion) throws(SQLiteError) {
        switch deletion.stage {
        case .rows: deletion.stage = .sessions
        case .sessions:
            try forgetPositions(upTo: deletion.cutoff)
            deletion.stage = .files
        case .files: deletion.stage = .freeSpace
        case .freeSpace:
            // Rows that were deleted before, or moved when pages were split, remain in free space.
            let used = try usedBytes()
            if deletion.cutoff == nil || used <= Self.largestCopy {
                try db.execute("VACUUM")
            } else {
                deletion.kept.append("the free space of beekon.db")
            }
            deletion.stage = .log
        case .log:
            deletion.waits += 1
            guard try db.emptyLog(waitingForReaders: Self.readerPatience) else {
                guard deletion.waits < Self.attempts else {
                    throw SQLiteError(
                        operation: "empty the log", code: .busy,
                        message: "a reader keeps the database open, and with it what was deleted")
                }
                return
            }
            let following = deletion.following
            try db.transaction { () throws(SQLiteError) in try mark(following) }
            if following.isEmpty { deletion.stage = .done } else { deletion.proceed(to: following) }
        case .done: break
        }
    }

    private func usedBytes() throws(SQLiteError) -> Int64 {
        func number(_ pragma: String) throws(SQLiteError) -> Int64 {
            Int64(try db.value("PRAGMA " + pragma) ?? "") ?? 0
        }
        return try (number("page_count") - number("freelist_count")) * number("page_size")
    }

    /// Removes the last positions and the parking spots of sessions whose last fix is deleted. Their lengths and
    /// counts are kept.
    private mutating func forgetPositions(upTo cutoff: Timestamp?) throws(SQLiteError) {
        if let time = current?.tail.reference?.time, cutoff.map({ time <= $0 }) ?? true {
            current?.tail.reference = nil
            current?.tail.memory = Admission.Memory()
        }
        try securely { () throws(SQLiteError) in
            try writeTail()
            try db.prepare(
                """
                UPDATE sessions SET last_ts = NULL, last_lat = NULL, last_lng = NULL, last_bearing = NULL, motion = 0, \
                parked_lat = NULL, parked_lng = NULL, check_in_from = NULL WHERE coalesce(last_ts, ?1) <= ?1
                """
            ).run(.integer(cutoff?.milliseconds ?? .max))
        }
    }

    /// A transaction in which deleted data is overwritten with zeros, not only unlinked.
    func securely<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try db.execute("PRAGMA secure_delete = ON")
        defer { try? db.execute("PRAGMA secure_delete = OFF") }
        return try db.transaction(body)
    }
}

extension Quarantine {
    /// Names of the databases in the directory that were put aside, with their companions.
    static func asideNames(of path: String) -> [String] {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let name = path.split(separator: "/").last.map(String.init) ?? path
        // Not what an operator has put beside it.
        return names(in: directory).filter {
            $0.hasPrefix(name + ".corrupt-") || $0.hasPrefix(Store.foreignPrefix)
        }
    }

    /// Removes them.
    static func removeAside(of path: String) throws(StorageError) {
        let directory = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        // A database last: companions without one tell that it is being put aside.
        for name in asideNames(of: path).reversed() where unlink(directory + "/" + name) != 0 {
            // A folder of that name is not a database of ours.
            if errno != ENOENT, errno != EISDIR, errno != EPERM {
                throw StorageError(SystemError("remove \(directory)/\(name)"))
            }
        }
        do {
            // The deletion is crossed out next: a power cut must not bring the names back after that.
            try StateDirectory.synchronise(String(directory))
        } catch {
            throw StorageError(error)
        }
    }
}
