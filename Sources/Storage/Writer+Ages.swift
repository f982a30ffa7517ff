internal import Base
internal import SQLite
package import Tracking

/// What is remembered about the observed times. Stored in the table of counters, in which 0 means nothing: 1970 has
/// never been trusted.
extension Writer {
    private static let latest = "age_latest"
    private static let lived = "age_lived"
    private static let first = "age_first"
    private static let last = "age_last"
    private static let proved = "age_proved"

    /// What was last written; in a database without it, the time of its newest row.
    func ageMemory() throws(SQLiteError) -> AgeTrust.Memory {
        guard let latest = try time(Self.latest) else {
            let newest = try db.value(
                """
                SELECT coalesce((SELECT MAX(ts) FROM locations), (SELECT MAX(ts) FROM geofence_events), \
                (SELECT MAX(rejected_at) FROM rejected), (SELECT MAX(rejected_at) FROM rejected_events))
                """)
            return AgeTrust.Memory(latest: newest.flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) })
        }
        return AgeTrust.Memory(
            latest: latest, lived: try seconds(Self.lived), first: try jump(Self.first),
            last: try jump(Self.last),
            provedUpTo: try time(Self.proved))
    }

    /// Part of a transaction.
    func write(_ memory: AgeTrust.Memory) throws(SQLiteError) {
        try setCounter(Self.latest, memory.latest?.milliseconds ?? 0)
        try setCounter(Self.lived, Self.milliseconds(memory.lived))
        for (name, jump) in [(Self.first, memory.first), (Self.last, memory.last)] {
            try setCounter(name + "_from", jump?.from.milliseconds ?? 0)
            try setCounter(name + "_lived", jump.map { Self.milliseconds($0.lived) } ?? 0)
        }
        try setCounter(Self.proved, memory.provedUpTo?.milliseconds ?? 0)
    }

    private func time(_ name: String) throws(SQLiteError) -> Timestamp? {
        let value = try counter(name)
        return value == 0 ? nil : Timestamp(milliseconds: value)
    }

    private func seconds(_ name: String) throws(SQLiteError) -> Double {
        Double(try counter(name)) / 1000
    }

    private func jump(_ name: String) throws(SQLiteError) -> AgeTrust.Memory.Jump? {
        guard let from = try time(name + "_from") else { return nil }
        return AgeTrust.Memory.Jump(from: from, lived: try seconds(name + "_lived"))
    }

    private static func milliseconds(_ seconds: Double) -> Int64 {
        Timestamp(milliseconds: 0).advanced(bySeconds: seconds).milliseconds
    }
}

extension Store {
    /// What was written with the rows about the observed times.
    @available(*, noasync, message: "blocks on the disk")
    package func ageMemory() throws(StorageError) -> AgeTrust.Memory {
        try perform("read ages") { (writer) throws(SQLiteError) in try writer.ageMemory() }
    }
}
