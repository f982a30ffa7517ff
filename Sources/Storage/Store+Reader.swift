internal import SQLite
public import Tracking

/// What the reader thread asks for: sessions, the latest location, deletions.
extension Store {
    /// Makes the session the current one, writing it down when it is new.
    ///
    /// - Returns: what is known of its last admitted fix.
    @available(*, noasync, message: "blocks on the disk")
    public func enter(session: UUIDv7, startedAt: Timestamp) throws(StorageError) -> SessionTail? {
        try perform("enter session") { (writer) throws(SQLiteError) in
            try writer.enter(session: session, startedAt: startedAt)
            return writer.current?.tail
        }
    }

    /// The newest location that is still stored.
    @available(*, noasync, message: "blocks on the disk")
    public func latestLocation() throws(StorageError) -> Location? {
        try perform("read latest location") { (writer) throws(SQLiteError) in try writer.latestLocation() }
    }

    /// The session ends; its locations stay.
    @available(*, noasync, message: "blocks on the disk")
    public func close(session: UUIDv7, at time: Timestamp) throws(StorageError) {
        try perform("close session") { (writer) throws(SQLiteError) in
            try writer.close(session: session, at: time)
        }
    }

    /// One step, of at most 1,000 rows, towards a cap that has been lowered.
    ///
    /// - Returns: whether another one is to follow.
    @available(*, noasync, message: "blocks on the disk")
    public func shrink() throws(StorageError) -> Bool {
        try performAtAnyCost("prune") { (writer) throws(SQLiteError) in try writer.shrink() }
    }

    /// Starts a deletion of everything at or before `cutoff`, or of everything that is there now.
    @available(*, noasync, message: "blocks on the disk")
    public func beginDeletion(before cutoff: Timestamp?) throws(StorageError) -> Deletion {
        try perform("delete") { (writer) throws(SQLiteError) in
            Deletion(
                cutoff: cutoff, maxSeq: writer.tally.nextSeq - 1, maxEventSeq: writer.events.nextSeq - 1)
        }
    }

    /// One step of at most 1,000 rows.
    @available(*, noasync, message: "blocks on the disk")
    public func proceed(with deletion: inout Deletion) throws(StorageError) {
        deletion = try performAtAnyCost("delete") { [deletion] (writer) throws(SQLiteError) in
            var deletion = deletion
            try writer.proceed(with: &deletion)
            return deletion
        }
    }
}
