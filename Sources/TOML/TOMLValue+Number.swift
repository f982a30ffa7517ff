extension TOMLValue {
    /// Reads a TOML number.
    ///
    /// - Returns: nil if it is none, or a whole one beyond 64 bits.
    static func read(number word: String) -> TOMLValue? {
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where word.hasPrefix(prefix) {
            guard let digits = grouped(word.dropFirst(2), radix: radix) else { return nil }
            return Int(digits, radix: radix).map { .integer($0) }
        }
        let hasSign = word.hasPrefix("-") || word.hasPrefix("+")
        let whole = (hasSign ? word.dropFirst() : word[...]).prefix { $0 != "." && $0 != "e" && $0 != "E" }
        guard let wholeDigits = grouped(whole, radix: 10), whole == "0" || !whole.hasPrefix("0") else {
            return nil
        }
        var rest = word[whole.endIndex...]
        var text = (word.hasPrefix("-") ? "-" : "") + wholeDigits
        if rest.isEmpty { return Int(text).map { .integer($0) } }
        if rest.hasPrefix(".") {
            let fraction = rest.dropFirst().prefix { $0 != "e" && $0 != "E" }
            guard let digits = grouped(fraction, radix: 10) else { return nil }
            text += "." + digits
            rest = rest[fraction.endIndex...]
        }
        if !rest.isEmpty {
            let power = rest.dropFirst()
            let signed = power.hasPrefix("-") || power.hasPrefix("+")
            guard let digits = grouped(signed ? power.dropFirst() : power, radix: 10) else { return nil }
            text += "e" + (power.hasPrefix("-") ? "-" : "") + digits
        }
        return Double(text).map { .number($0) }
    }

    /// The digits without the underscores that may stand singly between them; nil when anything else is there.
    private static func grouped(_ text: Substring, radix: Int) -> String? {
        let groups = text.split(separator: "_", omittingEmptySubsequences: false)
        let areDigits = groups.allSatisfy { group in
            !group.isEmpty && group.utf8.allSatisfy { $0 < 0x80 }
                && group.allSatisfy { ($0.hexDigitValue ?? radix) < radix }
        }
        return areDigits ? groups.joined() : nil
    }
}
