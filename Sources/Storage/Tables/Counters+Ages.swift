internal import Base
internal import SQLite
internal import Tracking

/// What is remembered about the observed times. In these counters 0 means nothing: no line of times that has been
/// trusted begins in 1970.
extension Counters {
    private static let ran = "age_ran"

    private static func line(_ index: Int) -> String { "age_line_\(index)" }

    /// What was last written; nil in a database without it.
    func ages() throws(SQLiteError) -> AgeTrust.Memory? {
        try Self.ages { (name) throws(SQLiteError) in try value(name) }
    }

    static func ages<Failure>(_ counter: Reading<Failure>) throws(Failure) -> AgeTrust.Memory? {
        var memory = AgeTrust.Memory(ran: Double(max(try counter(ran), 0)) / 1000, lines: [])
        for index in 0..<AgeTrust.limit {
            let origin = try counter(line(index))
            guard origin != 0 else { break }
            let until = Double(try counter(line(index) + "_until")) / 1000
            memory.lines.append(AgeTrust.Line(origin: Timestamp(milliseconds: origin), until: until))
        }
        return memory.lines.isEmpty ? nil : memory
    }

    func set(_ memory: AgeTrust.Memory) throws(SQLiteError) {
        try set(Self.ran, to: Self.milliseconds(memory.ran))
        let lines = memory.lines.prefix(AgeTrust.limit)
        for (index, line) in lines.enumerated() {
            try set(Self.line(index), to: line.origin.milliseconds)
            try set(Self.line(index) + "_until", to: Self.milliseconds(line.until))
        }
        // The end of the list; what comes after it is not read.
        if lines.count < AgeTrust.limit { try set(Self.line(lines.count), to: 0) }
    }

    private static func milliseconds(_ seconds: Double) -> Int64 {
        Timestamp(milliseconds: 0).advanced(bySeconds: seconds).milliseconds
    }
}
