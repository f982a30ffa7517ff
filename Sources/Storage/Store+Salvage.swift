internal import Linux
internal import SQLite

/// What is done with a damaged database, once another stands in its place.
extension Store {
    /// Imports what still reads of one that was put aside.
    ///
    /// Rows that cannot be written, for want of room say, stay in the old file, which is kept then: a store that works is
    /// worth more than to wait for them.
    ///
    /// - Parameter base: its path, without the suffix of those that have not been looked through.
    static func takeOver(
        _ base: String, _ state: inout State, _ path: String, reason: String
    ) throws(StorageError) {
        guard var writer = state.writer.take() else { return }
        writer.numbers.cover(state.numbers)
        var salvaged = 0
        var isComplete = false
        do {
            isComplete = try takeOver(base, into: &writer, erasing: state.erasing, &salvaged)
        } catch {
            _ = failure(error, of: writer, &state)
        }
        _ = consume writer
        // If it cannot be renamed now, the next start looks through it again.
        let closed = try? Quarantine.close(base, isSalvaged: isComplete)
        let name = closed?.name ?? base + Quarantine.unreadSuffix
        state.events.append(.quarantined(name: name, reason: reason, salvaged: salvaged))
        state.events += (closed?.removed ?? []).map { .removed(name: $0) }
        // Opened anew, so that the rows that came in are counted like any others.
        state.writer = try Writer.open(path, options: state.options)
        state.writer?.numbers.cover(state.numbers)
    }

    /// - Returns: whether it holds nothing more.
    private static func takeOver(
        _ base: String, into writer: inout Writer, erasing: [Deletion.Bounds], _ salvaged: inout Int
    ) throws(SQLiteError) -> Bool {
        let file = base + Quarantine.unreadSuffix
        let deadline = Clock.boot() + Int64(Salvage.patience * 1e9)
        guard !Quarantine.isOrphan(file),
            var salvage = try? Salvage(path: file, deadline: deadline, erasing: erasing)
        else {
            // A file that does not open today may be read by somebody who knows how to mend it.
            if !erasing.isEmpty { try writer.remember(erasing) }
            return false
        }
        let name = String(base.dropFirst(Quarantine.directory(of: base).count + 1))
        if let wasComplete = try writer.beginImport(salvage, name: name) { return wasComplete }
        try writer.importRows(&salvage, done: &salvaged)
        try writer.endImport(name: name, isComplete: salvage.isComplete)
        return salvage.isComplete
    }
}
