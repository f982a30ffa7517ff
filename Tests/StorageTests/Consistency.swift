import Base
import SQLite
import Testing

@testable import Storage

/// What must hold at any time.
extension Store {
    /// The ledger is what a start would make of the file at this moment; every row is somebody's, and every batch holds what
    /// its destination is owed.
    func checkLedger() throws {
        let (running, loaded) = try perform("check") { (writer) throws(SQLiteError) in
            let running = writer.ledger
            defer { writer.ledger = running }
            try writer.load()
            return (running, writer.ledger)
        }
        try #require(running.names == loaded.names)
        try #require(running.locations.rows == loaded.locations.rows)
        try #require(running.locations.uploaded == loaded.locations.uploaded)
        try #require(running.events.rows == loaded.events.rows)
        try #require(running.events.uploaded == loaded.events.uploaded)
        try #require(running.losses == loaded.losses)
        for (one, other) in zip(running.backlogs, loaded.backlogs) { try Self.compare(one, other) }
        try checkRows(running)
    }

    private static func compare(_ running: Backlog, _ loaded: Backlog) throws {
        let name = running.name.text
        try #require(running.owed == loaded.owed, "\(name)")
        try #require(running.offered == loaded.offered, "\(name)")
        try #require(running.locations == loaded.locations, "\(name)")
        try #require(running.events == loaded.events, "\(name)")
        try #require(running.queue.frozen == loaded.queue.frozen, "\(name)")
        try #require(running.hasStreak == loaded.hasStreak, "\(name)")
        try #require(running.losses == loaded.losses, "\(name)")
        try #require(running.isOrphaned == loaded.isOrphaned, "\(name)")
        try #require(running.orphanedAt == loaded.orphanedAt, "\(name)")
    }

    private func checkRows(_ ledger: Ledger) throws {
        let (locations, events, debts) = try perform("check") { (writer) throws(SQLiteError) in
            let debts = try writer.db.value(
                "SELECT (SELECT COUNT(*) FROM debts) + (SELECT COUNT(*) FROM destinations)")
            func pending(_ table: String) throws(SQLiteError) -> SeqSet {
                var seqs = SeqSet()
                let rows = try writer.db.prepare("SELECT seq FROM \(table) WHERE uploaded = 0")
                while try rows.step() { seqs.insert(rows.integer(0)) }
                return seqs
            }
            return (try pending("locations"), try pending("events"), debts)
        }
        if !ledger.hasDebts { try #require(debts == "0", "debts without destinations") }
        let owed = ledger.backlogs.reduce(into: SeqSet()) { $0.formUnion($1.owed.locations) }
        try #require(owed.isSuperset(of: locations), "a row that nobody is owed")
        for backlog in ledger.backlogs {
            for batch in backlog.queue.frozen {
                try #require(backlog.owed.locations.isSuperset(of: batch.members.seqs), "\(backlog.name)")
                try #require(locations.isSuperset(of: batch.members.seqs), "\(backlog.name)")
                // Without those that its format does not carry any more.
                let due = batch.members.events.intersection(backlog.owed.events)
                try #require(events.isSuperset(of: due), "\(backlog.name)")
            }
        }
    }
}
