// The files of the tz database: TZif, RFC 9636.

extension TimeZoneRules {
    /// Bytes; the largest file of the tz database has 4 KB.
    package static let fileLimit = 65_536
    /// Transitions; the most there are in the tz database are some 250.
    private static let transitionLimit: Int64 = 8192
    /// The range of RFC 9636 3.2, in seconds east of UTC.
    private static let offsets: ClosedRange<Int64> = -89_999...93_599

    /// Reads the content of a file of `/usr/share/zoneinfo`. It is not trusted: everything in it is checked.
    package init(tzif bytes: [UInt8]) throws(Flaw) {
        guard bytes.count <= Self.fileLimit else { throw Flaw(description: "is too large for a time zone") }
        var reader = Reader(bytes: bytes)
        var header = try Header(&reader)
        // Version 1 has 32-bit times, and no rule. Later ones have both, after a first part for old programs.
        let isWide = header.version >= UInt8(ascii: "2")
        if isWide {
            try reader.skip(header.size(timeSize: 4))
            header = try Header(&reader)
        }
        // Files below `right/` count leap seconds, which Unix time does not.
        guard header.leaps == 0 else {
            throw Flaw(description: "counts leap seconds: use a zone outside right/")
        }
        guard header.times <= Self.transitionLimit, (1...256).contains(header.types) else {
            throw Flaw(description: "has no plausible number of transitions")
        }
        let parts = try Self.parts(header, isWide, &reader)
        try reader.skip(header.characters + header.standards + header.universals)
        self.init(
            transitions: parts.transitions, first: parts.first, rule: isWide ? try Self.rule(&reader) : nil)
    }

    private static func parts(_ header: Header, _ isWide: Bool, _ reader: inout Reader) throws(Flaw) -> (
        transitions: [Transition], first: Int
    ) {
        var seconds: [Int64] = []
        for _ in 0..<header.times {
            let second = try reader.integer(isWide ? 8 : 4)
            guard seconds.last.map({ $0 < second }) ?? true else {
                throw Flaw(description: "has transitions out of order")
            }
            seconds.append(second)
        }
        var kinds: [Int] = []
        for _ in 0..<header.times { kinds.append(Int(try reader.byte())) }
        var offsets: [Int] = []
        for _ in 0..<header.types {
            let offset = try reader.integer(4)
            guard Self.offsets.contains(offset) else { throw Flaw(description: "has an impossible offset") }
            offsets.append(Int(offset))
            // Whether it is daylight saving time, and its name.
            try reader.skip(2)
        }
        guard let first = offsets.first, kinds.allSatisfy({ $0 < offsets.count }) else {
            throw Flaw(description: "refers to an offset that it has not")
        }
        return (zip(seconds, kinds).map { Transition(second: $0, offset: offsets[$1]) }, first)
    }

    /// The footer: a TZ string between two line feeds, which may be empty.
    private static func rule(_ reader: inout Reader) throws(Flaw) -> POSIXTimeZone? {
        let rest = reader.bytes[reader.position...]
        guard rest.first == UInt8(ascii: "\n"),
            let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\n"))
        else { throw Flaw(description: "ends without its rule") }
        let text = rest[(reader.position + 1)..<end]
        guard !text.isEmpty else { return nil }
        guard let rule = POSIXTimeZone(text) else { throw Flaw(description: "ends in a rule that is none") }
        return rule
    }

    private struct Header {
        let version: UInt8
        let universals: Int64
        let standards: Int64
        let leaps: Int64
        let times: Int64
        let types: Int64
        let characters: Int64

        init(_ reader: inout Reader) throws(Flaw) {
            for byte in "TZif".utf8 where try reader.byte() != byte {
                throw Flaw(description: "is no time zone")
            }
            version = try reader.byte()
            try reader.skip(15)
            universals = try reader.count()
            standards = try reader.count()
            leaps = try reader.count()
            times = try reader.count()
            types = try reader.count()
            characters = try reader.count()
        }

        /// Bytes of the data that follow.
        func size(timeSize: Int64) -> Int64 {
            times * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + standards + universals
        }
    }

    /// Big-endian numbers, never past the end.
    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        mutating func skip(_ count: Int64) throws(Flaw) {
            guard count <= bytes.count - position else { throw Flaw(description: "is cut short") }
            position += Int(count)
        }

        mutating func byte() throws(Flaw) -> UInt8 {
            guard position < bytes.count else { throw Flaw(description: "is cut short") }
            position += 1
            return bytes[position - 1]
        }

        mutating func integer(_ size: Int) throws(Flaw) -> Int64 {
            var value: UInt64 = 0
            for _ in 0..<size { value = value << 8 | UInt64(try byte()) }
            return size == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
        }

        /// Bounded by the size of the file.
        mutating func count() throws(Flaw) -> Int64 {
            let value = try integer(4)
            guard (0...Int64(TimeZoneRules.fileLimit)).contains(value) else {
                throw Flaw(description: "has impossible counts")
            }
            return value
        }
    }
}
