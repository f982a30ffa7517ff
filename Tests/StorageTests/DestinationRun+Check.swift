import Base
import SQLite
import Testing

@testable import Storage

/// What the store says and what the model does.
extension DestinationRun {
    func check() throws {
        try store.checkLedger()
        let found = try store.perform("look") { (writer) throws(SQLiteError) in try Found(&writer) }
        let differences = found.stored.symmetricDifference(model.ids { _ in true })
        try #require(
            differences == [],
            "\(found.stored.isSuperset(of: differences)) \(model.isPlain) \(model.options.destinations)")
        try #require(found.kept == model.ids(\.isKept))
        try #require(Set(found.owed.keys) == Set(model.known.keys), "\(model.options.destinations)")
        for (name, one) in model.known {
            try #require(found.owed[name] == one.owed, "\(name)")
            try #require(
                found.dead[name] ?? [] == one.dead.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) },
                "\(name)")
            try #require(try store.nextFrozen(for: name)?.id == one.batches.first?.id, "\(name)")
            let counts = store.counts()[name]
            try #require(counts?.pending == one.owed.count, "\(name)")
            try #require(counts?.rejected == one.dead.count, "\(name)")
            try #require(
                counts?.isOrphaned == one.isOrphaned, "\(name) \(model.isPlain) \(model.options.destinations)"
            )
        }
    }

    /// What the file says.
    private struct Found: Sendable {
        var stored: Set<UUIDv7> = []
        var kept: Set<UUIDv7> = []
        var owed: [DestinationName: Set<UUIDv7>] = [:]
        var dead: [DestinationName: [UUIDv7]] = [:]

        init(_ writer: inout Writer) throws(SQLiteError) {
            for name in writer.ledger.names { owed[name] = [] }
            for (table, isEvent) in [("locations", false), ("events", true)] {
                let rows = try writer.db.prepare("SELECT id, seq, uploaded FROM \(table)")
                while try rows.step() {
                    guard let id = UUIDv7(bytes: rows.blob(0)) else { continue }
                    stored.insert(id)
                    if rows.integer(2) != 0 { kept.insert(id) }
                    for backlog in writer.ledger.backlogs where rows.integer(2) == 0 {
                        let seqs = isEvent ? backlog.owed.events : backlog.owed.locations
                        if seqs.contains(rows.integer(1)) { owed[backlog.name, default: []].insert(id) }
                    }
                }
            }
            let letters = try writer.db.prepare(
                "SELECT id, destination FROM rejected UNION ALL SELECT id, destination FROM rejected_events ORDER BY id"
            )
            while try letters.step() {
                guard let id = UUIDv7(bytes: letters.blob(0)),
                    let name = letters.text(1).flatMap({ DestinationName($0) })
                else { continue }
                dead[name, default: []].append(id)
            }
        }
    }
}
