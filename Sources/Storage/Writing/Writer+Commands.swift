internal import Base
internal import SQLite

/// The commands of servers, from their arrival to the acknowledgement of their results.
extension Writer {
    /// Writes down what came with the answer to a request without rows, which carried these results.
    mutating func journal(
        _ list: CommandList?, sent results: [CommandRecord]
    ) throws(SQLiteError) -> Journaling {
        guard list != nil || !results.isEmpty else { return Journaling() }
        let journaling = try db.transaction { () throws(SQLiteError) in
            try tables.commands.markSent(results)
            return try write(list)
        }
        try countCommands()
        return journaling
    }

    /// Part of a transaction. `countCommands` follows its COMMIT.
    func write(_ list: CommandList?) throws(SQLiteError) -> Journaling {
        guard let list, !list.commands.isEmpty else { return Journaling() }
        let waiting = ledger.commands.values.reduce(0) { $0 + $1.waiting }
        return try tables.commands.write(list, waiting: waiting)
    }

    mutating func countCommands() throws(SQLiteError) {
        ledger.commands = try tables.commands.counts()
    }

    /// After its effect: what came of it.
    mutating func finish(
        _ command: CommandRecord, with outcome: CommandOutcome, at time: Timestamp, wasBegun: Bool
    ) throws(SQLiteError) {
        try tables.commands.finish(command, with: outcome, at: time, wasBegun: wasBegun)
        try countCommands()
    }

    mutating func supersedeCommands(
        named name: String, at time: Timestamp
    ) throws(SQLiteError) -> [CommandRecord] {
        guard ledger.commands.values.contains(where: { $0.waiting > 0 }) else { return [] }
        let superseded = try db.transaction { () throws(SQLiteError) in
            try tables.commands.supersede(name, at: time)
        }
        try countCommands()
        return superseded
    }

    /// - Returns: how many there were.
    mutating func refuseCommands(
        besides destination: DestinationName?, error: String, at time: Timestamp
    ) throws(SQLiteError) -> Int {
        let doomed = ledger.commands.filter { $0.key != destination }.values.reduce(0) { $0 + $1.waiting }
        guard doomed > 0 else { return 0 }
        try tables.commands.refuseAll(besides: destination, error: error, at: time)
        try countCommands()
        return doomed
    }
}
