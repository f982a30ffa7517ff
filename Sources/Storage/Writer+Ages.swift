internal import Base
internal import SQLite
package import Tracking

/// What is remembered about the observed times. Stored in the table of counters, in which 0 means nothing: no line of
/// times that has been trusted begins in 1970.
extension Writer {
    private static let ran = "age_ran"

    private static func name(_ index: Int) -> String { "age_line_\(index)" }

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
    static func ageMemory(
        _ counter: (String) throws(SQLiteError) -> Int64
    ) throws(SQLiteError) -> AgeTrust.Memory? {
        var memory = AgeTrust.Memory(ran: Double(max(try counter(ran), 0)) / 1000, lines: [])
        for index in 0..<AgeTrust.limit {
            let origin = try counter(name(index))
            guard origin != 0 else { break }
            let until = Double(try counter(name(index) + "_until")) / 1000
            memory.lines.append(AgeTrust.Line(origin: Timestamp(milliseconds: origin), until: until))
        }
        return memory.lines.isEmpty ? nil : memory
    }

    /// Part of a transaction.
    func write(_ memory: AgeTrust.Memory) throws(SQLiteError) {
        try setCounter(Self.ran, Self.milliseconds(memory.ran))
        let lines = memory.lines.prefix(AgeTrust.limit)
        for (index, line) in lines.enumerated() {
            try setCounter(Self.name(index), line.origin.milliseconds)
            try setCounter(Self.name(index) + "_until", Self.milliseconds(line.until))
        }
        // The end of the list; what comes after it is not read.
        if lines.count < AgeTrust.limit { try setCounter(Self.name(lines.count), 0) }
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
