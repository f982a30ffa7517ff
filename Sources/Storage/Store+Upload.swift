package import Base
internal import SQLite

/// What the uploader thread asks for: batches, from their draft to what became of them.
extension Store {
    /// The frozen batch that goes next.
    @available(*, noasync, message: "blocks on the disk")
    package func nextFrozen() throws(StorageError) -> FrozenBatch? {
        try perform("read batch") { (writer) throws(SQLiteError) in try writer.nextFrozen() }
    }

    /// The rows that the next batch should carry; nil when nothing is pending or a batch is frozen already.
    @available(*, noasync, message: "blocks on the disk")
    package func draftBatch(limit: Int) throws(StorageError) -> BatchDraft? {
        try perform("draft batch") { (writer) throws(SQLiteError) in try writer.draftBatch(limit: limit) }
    }

    /// The rows of the batch behind one that has been sent, to be frozen with its acknowledgement; nil when nothing else is
    /// pending, or other batches are frozen.
    @available(*, noasync, message: "blocks on the disk")
    package func draftBatch(limit: Int, after batch: FrozenBatch) throws(StorageError) -> BatchDraft? {
        try perform("draft batch") { (writer) throws(SQLiteError) in
            try writer.draftBatch(limit: limit, after: writer.known(batch))
        }
    }

    /// Commits the batch; nil when the user deleted some of its rows since it was drafted.
    @available(*, noasync, message: "blocks on the disk")
    package func freeze(_ draft: BatchDraft, id: UUIDv7, body: [UInt8]) throws(StorageError) -> FrozenBatch? {
        try performAtAnyCost("freeze batch") { (writer) throws(SQLiteError) in
            try writer.freeze(draft, id: id, body: body)
        }
    }

    /// A complete 2xx: the rows leave, or are marked, in one transaction. Returns how many.
    @available(*, noasync, message: "blocks on the disk")
    package func acknowledge(_ batch: FrozenBatch) throws(StorageError) -> Int {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in
            try writer.acknowledge(writer.known(batch))
        }
    }

    /// The same, and in the same transaction the next batch is frozen: one sync instead of two. It is not when the user
    /// deleted some of its rows since it was drafted.
    @available(*, noasync, message: "blocks on the disk")
    package func acknowledge(
        _ batch: FrozenBatch, freezing draft: BatchDraft, id: UUIDv7, body: [UInt8]
    ) throws(StorageError) -> Int {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in
            try writer.acknowledge(writer.known(batch), freezing: (draft, id, body))
        }
    }

    /// A 400 or 422: the rows become dead letters, unless that raises the suspicion that the endpoint is at fault.
    ///
    /// - Parameter trusted: the time by which dead letters grow old; nil when no clock can be trusted.
    @available(*, noasync, message: "blocks on the disk")
    package func reject(
        _ batch: FrozenBatch, status: Int, at time: Timestamp, trusted: Timestamp? = nil
    ) throws(StorageError) -> Rejection {
        return try performAtAnyCost("reject") { (writer) throws(SQLiteError) in
            try writer.reject(writer.known(batch), status: status, at: time, trusted: trusted)
        }
    }

    /// Counts a rejection without moving the rows, and tells whether the endpoint is to be suspected now: three batches in
    /// a row were rejected, and none accepted between.
    @available(*, noasync, message: "blocks on the disk")
    package func countRejection(of batch: FrozenBatch) throws(StorageError) -> Bool {
        try performAtAnyCost("count rejection") { (writer) throws(SQLiteError) in
            try writer.countRejection(of: writer.known(batch))
        }
    }

    /// The rows of a rejected batch in two halves, for the search for poison rows.
    @available(*, noasync, message: "blocks on the disk")
    package func halves(of batch: FrozenBatch) throws(StorageError) -> [BatchDraft] {
        try perform("halve batch") { (writer) throws(SQLiteError) in
            try writer.halves(of: writer.known(batch))
        }
    }

    /// Puts the pieces in the batch's place.
    @available(*, noasync, message: "blocks on the disk")
    package func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])]
    ) throws(StorageError) {
        try performAtAnyCost("split batch") { (writer) throws(SQLiteError) in
            try writer.split(writer.known(batch), into: pieces)
        }
    }

    /// The server refused the batch in a way that only a change of configuration can mend.
    @available(*, noasync, message: "blocks on the disk")
    package func markPermanent(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("mark batch") { (writer) throws(SQLiteError) in
            try writer.markPermanent(writer.known(batch))
        }
    }

    /// Tells where batches go now, as a number that differs whenever url or batch size do. Batches that the old
    /// endpoint refused for good are dissolved; their rows go into new ones.
    @available(*, noasync, message: "blocks on the disk")
    package func adopt(endpoint: Int64) throws(StorageError) {
        try performAtAnyCost("adopt endpoint") { (writer) throws(SQLiteError) in
            try writer.adopt(endpoint: endpoint)
        }
    }
}
