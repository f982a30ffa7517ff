/// Takes out of texts what may be a position. beekond writes none, but a server may repeat one in the reason of a refusal.
///
/// It goes by what a coordinate looks like: a number with up to three digits before its point and three or more behind it, which
/// is 100 m and better. Times, seconds and versions stay.
enum Places {
    private static let mask = Array("(number)".utf8)

    /// The text with `(number)` in the place of each.
    static func hidden(in text: String) -> String {
        String(decoding: hidden(in: Array(text.utf8)[...]), as: UTF8.self)
    }

    /// JSON, in which only texts change.
    static func hidden(inJSON json: String) -> String {
        var (result, rest) = ([UInt8](), Array(json.utf8)[...])
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            result += rest[...quote]
            rest = rest[(quote + 1)...]
            var end = rest.startIndex
            while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
                end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            end = min(end, rest.endIndex)
            result += hidden(in: rest[..<end])
            result += rest[end...].prefix(1)
            rest = rest[end...].dropFirst()
        }
        return String(decoding: result + rest, as: UTF8.self)
    }

    private static func hidden(in text: ArraySlice<UInt8>) -> [UInt8] {
        var (result, rest) = ([UInt8](), text)
        while let start = rest.firstIndex(where: isDigit) {
            result += rest[..<start]
            let number = rest[start...].prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
            rest = rest[number.endIndex...]
            let isOther = endsTime(text[..<start]) || areSeconds(rest)
            result += isPlace(number) && !isOther ? mask : Array(number)
        }
        return result + rest
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isPlace(_ number: ArraySlice<UInt8>) -> Bool {
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A full stop may follow.
        guard parts.count == 2 || parts.count == 3 && parts[2].isEmpty else { return false }
        return (1...3).contains(parts[0].count) && parts[1].count >= 3
    }

    /// Whether minutes and a colon stand before the seconds.
    private static func endsTime(_ text: ArraySlice<UInt8>) -> Bool {
        text.last == UInt8(ascii: ":") && text.dropLast().last.map(isDigit) == true
    }

    private static func areSeconds(_ rest: ArraySlice<UInt8>) -> Bool {
        guard rest.starts(with: " s".utf8) else { return false }
        guard let next = rest.dropFirst(2).first else { return true }
        return !(isDigit(next) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next | 0x20))
    }
}
