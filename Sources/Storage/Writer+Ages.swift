internal import SQLite
public import Tracking

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
        let known = try Self.ageMemory { (name) throws(SQLiteError) in try counter(name) }
        if let known { return known }
        let newest = try db.value(
            """
            SELECT coalesce((SELECT MAX(ts) FROM locations), (SELECT MAX(ts) FROM geofence_events), \
            (SELECT MAX(rejected_at) FROM rejected), (SELECT MAX(rejected_at) FROM rejected_events))
            """)
        return AgeTrust.Memory(latest: newest.flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) })
    }

    /// What was last written; nil in a database without it.
    ///
    /// - Parameter counter: the value of a counter; 0 when there is none of that name.
    static func ageMemory(_ counter: (String) throws(SQLiteError) -> Int64) throws(SQLiteError) -> AgeTrust
        .Memory?
    {
        func time(_ name: String) throws(SQLiteError) -> Timestamp? {
            let value = try counter(name)
            return value == 0 ? nil : Timestamp(milliseconds: value)
        }
        func seconds(_ name: String) throws(SQLiteError) -> Double { Double(try counter(name)) / 1000 }
        func jump(_ name: String) throws(SQLiteError) -> AgeTrust.Memory.Jump? {
            guard let from = try time(name + "_from") else { return nil }
            return AgeTrust.Memory.Jump(from: from, lived: try seconds(name + "_lived"))
        }
        guard let latest = try time(latest) else { return nil }
        return AgeTrust.Memory(
            latest: latest, lived: try seconds(lived), first: try jump(first), last: try jump(last),
            provedUpTo: try time(proved))
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

    private static func milliseconds(_ seconds: Double) -> Int64 {
        Timestamp(milliseconds: 0).advanced(bySeconds: seconds).milliseconds
    }
}

extension Store {
    /// What was written with the rows about the observed times.
    @available(*, noasync, message: "blocks on the disk")
    public func ageMemory() throws(StorageError) -> AgeTrust.Memory {
        try perform("read ages") { (writer) throws(SQLiteError) in try writer.ageMemory() }
    }
}
