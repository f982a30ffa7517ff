internal import Linux
internal import SQLite

/// What is done with a damaged database, once another stands in its place.
extension StoreState {
    /// Imports what is still readable in one that was moved aside.
    ///
    /// Rows that cannot be written, for lack of space say, stay in the old file, which is then kept: a working store matters
    /// more than they do.
    ///
    /// - Parameter base: its path, without the suffix of those that have yet to be salvaged.
    mutating func salvage(_ base: String, reason: String) throws(StorageError) {
        guard var writer = self.writer.take() else { return }
        writer.ledger.cover(remembered.numbers)
        var salvaged = 0
        var isComplete = false
        do {
            isComplete = try importContents(
                of: base, into: &writer, erasing: remembered.erasing, &salvaged)
        } catch {
            _ = failure(error, of: writer)
        }
        _ = consume writer
        // If it cannot be renamed now, the next start salvages it again.
        let closed = try? quarantine.close(base, isSalvaged: isComplete)
        let name = closed?.name ?? base + Quarantine.unreadSuffix
        news.events.append(.quarantined(name: name, reason: reason, salvaged: salvaged))
        news.events += (closed?.removed ?? []).map { .removed(name: $0) }
        // Opened anew, so that the rows that came in are counted like any others.
        self.writer = try Writer.open(path, options: options, on: quarantine.files)
        self.writer?.ledger.cover(remembered.numbers)
    }

    /// - Returns: whether it holds nothing more.
    private func importContents(
        of base: String, into writer: inout Writer, erasing: [Deletion.Bounds],
        _ salvaged: inout Int
    ) throws(SQLiteError) -> Bool {
        let file = base + Quarantine.unreadSuffix
        guard (try? quarantine.isOrphan(file)) == false,
            var salvage = try? Salvage(
                path: file, vfs: quarantine.files.vfs, progress: progress, erasing: erasing)
        else {
            // A file that does not open may still be repairable.
            if !erasing.isEmpty { try writer.remember(erasing) }
            return false
        }
        let name = String(base.dropFirst(Quarantine.directory(of: base).count + 1))
        if let wasComplete = try writer.beginImport(salvage, name: name) { return wasComplete }
        try writer.importRows(&salvage, name: name, done: &salvaged)
        try writer.endImport(name: name, isComplete: salvage.isComplete)
        return salvage.isComplete
    }
}
