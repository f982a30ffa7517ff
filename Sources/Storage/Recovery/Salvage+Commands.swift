internal import Base
internal import SQLite

extension Salvage {
    /// The commands of servers: one that has been run must not be run again, and one that has not, must be.
    mutating func commands() -> [CommandRecord] {
        do {
            guard try hasTable("commands") else { return [] }
            var records: [CommandRecord] = []
            var last = Int64.min
            while true {
                let page = try Commands.page(after: last, limit: Self.step, source("commands"))
                records += page.records
                guard let seq = page.last, !page.isLast, records.count < CommandRecord.limit else { break }
                last = seq
            }
            let erased = erased
            return records.map { Self.withoutErasedPosition($0, erased) }
        } catch {
            isComplete = false
            return []
        }
    }

    private static func withoutErasedPosition(
        _ record: CommandRecord, _ erased: [Deletion.Bounds]
    ) -> CommandRecord {
        guard let time = record.outcome.positionAt,
            erased.contains(where: { time.milliseconds <= $0.lastTime })
        else { return record }
        return record.done(with: CommandOutcome(error: record.outcome.error), at: record.doneAt)
    }
}
