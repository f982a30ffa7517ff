/// What is written into InfluxDB's line protocol: each place has its own characters that end it.
///
/// Backslashes are the trouble: of a tag's they are read in more than one way, so there they become `/`. No line can hold a
/// control character: it becomes a space.
enum LineText {
    /// Where a text stands.
    enum Place: Equatable, Sendable {
        /// Names of fields, and values of tags: neither has quotation marks around it.
        case name
        /// Between the quotation marks of a field.
        case string
    }

    /// Names that mean something to InfluxDB.
    static let reserved: Set<[UInt8]> = Set(["time", "_field", "_measurement"].map { Array($0.utf8) })

    /// At most twice as long.
    static func escaped(_ text: some Sequence<UInt8>, in place: Place) -> [UInt8] {
        let backslash = UInt8(ascii: "\\")
        var result: [UInt8] = []
        for byte in text {
            let plain = byte < 0x20 || byte == 0x7F ? UInt8(ascii: " ") : byte
            switch (plain, place) {
            case (UInt8(ascii: ","), .name), (UInt8(ascii: "="), .name), (UInt8(ascii: " "), .name),
                (UInt8(ascii: "\""), .string), (backslash, .string):
                result += [backslash, plain]
            case (backslash, .name): result.append(UInt8(ascii: "/"))
            default: result.append(plain)
            }
        }
        return result
    }

    /// Extras as fields, each after a comma. Of those that would have the same name, the first.
    ///
    /// - Parameter taken: names that a line has already.
    static func fields(_ extras: [TemplateParser.Member], without taken: Set<[UInt8]>) -> [UInt8] {
        var names = taken.union(reserved)
        var fields: [UInt8] = []
        for extra in extras {
            let name = extra.name.map(readable)
            guard !name.isEmpty, let value = JSONReader.read(extra.value).flatMap(field),
                names.insert(name).inserted
            else { continue }
            fields += [UInt8(ascii: ",")] + escaped(name, in: .name) + [UInt8(ascii: "=")] + value
        }
        return fields
    }

    /// What is read of a name: readers differ in what quotation marks mean there, too.
    private static func readable(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0..<0x20, 0x7F: UInt8(ascii: " ")
        case UInt8(ascii: "\\"): UInt8(ascii: "/")
        case UInt8(ascii: "\""): UInt8(ascii: "'")
        default: byte
        }
    }

    private static func field(_ value: JSON) -> [UInt8]? {
        let quote = [UInt8(ascii: "\"")]
        switch value {
        case .string(let text): return quote + escaped(text.utf8, in: .string) + quote
        case .number(let text): return Double(text)?.isFinite == true ? Array(text.utf8) : nil
        case .bool(let isTrue): return Array((isTrue ? "true" : "false").utf8)
        case .null, .array, .object: return nil
        }
    }
}
