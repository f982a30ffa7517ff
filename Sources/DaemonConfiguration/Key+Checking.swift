internal import Base

extension Key {
    /// A value that may be used; `note` says so when it was moved into the allowed range.
    struct Accepted {
        let value: SettingValue
        var note: String?
    }

    /// Why a value cannot be used, and what to write instead. Never quotes a text that may be secret.
    struct Refusal: Error { let message: String }

    /// Holds a value against the row of the table. `entry` is the name inside an open table.
    func check(_ value: SettingValue, entry: String? = nil) throws(Refusal) -> Accepted {
        switch (kind, value) {
        case (.flag, .bool): return Accepted(value: value)
        case (.integer(let range, let clamped), .integer(let number)):
            return try inRange(number, range, clamped, shown: String(number)) { .integer($0) }
        case (.integer(let range, let clamped), .number(let number)):
            guard let whole = Int(exactly: number) else { throw wrongType(found: "\(number.plain)") }
            return try inRange(whole, range, clamped, shown: String(whole)) { .integer($0) }
        case (.number(let range, let clamped), .integer(let number)):
            return try inRange(Double(number), range, clamped, shown: String(number)) { .number($0) }
        case (.number(let range, let clamped), .number(let number)):
            guard number.isFinite else {
                throw Refusal(message: "\(number) is not a number to count with; \(usage)")
            }
            return try inRange(number, range, clamped, shown: number.plain) { .number($0) }
        case (.choice(let names), .string(let text)):
            guard !names.contains(text) else { return Accepted(value: value) }
            let hint = Nearest.name(to: text, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw Refusal(message: "\"\(text.escaped)\" is not known; use \(allowed)\(hint)")
        case (.text(let rule), .string(let text)):
            if let complaint = rule(text) { throw Refusal(message: complaint) }
            return Accepted(value: value)
        case (.list(let rule, let limit), .list(let texts)):
            guard texts.count <= limit else {
                throw Refusal(message: "\(texts.count) texts are too many; at most \(limit) are allowed")
            }
            for text in texts {
                if let complaint = rule(text) { throw Refusal(message: "\"\(text.escaped)\" \(complaint)") }
            }
            return Accepted(value: value)
        case (.list, .string(let text)) where takesSingle: return try check(.list([text]))
        case (.openValues(let rule), .bool), (.openValues(let rule), .integer),
            (.openValues(let rule), .number):
            if case .number(let number) = value, !number.isFinite {
                throw Refusal(message: "not a number that JSON knows; use a finite one")
            }
            if let complaint = rule(entry ?? "", "") { throw Refusal(message: complaint) }
            return Accepted(value: value)
        case (.open(let rule), .string(let text)), (.openValues(let rule), .string(let text)):
            if let complaint = rule(entry ?? "", text) { throw Refusal(message: complaint) }
            return Accepted(value: value)
        default: throw wrongType(found: value.typeName)
        }
    }

    /// The complaint about a value of another type.
    func wrongType(found: String) -> Refusal {
        let expected = isOpen ? entryAllowed : allowed
        let hint =
            switch (kind, found) {
            case (.flag, _), (.integer, "a text in quotes"), (.number, "a text in quotes"):
                "; write it without quotes"
            case (.list, "a text in quotes"): "; write [\"…\"]"
            case (.text, _), (.open, _), (.choice, _): isSecret ? "" : "; put it in quotes"
            default: ""
            }
        return Refusal(message: "expected \(expected), found \(found)\(hint)")
    }

    /// What may be written for an entry of an open table.
    var entryAllowed: String {
        if case .openValues = kind { "a text in quotes, a number, true or false" } else { "a text in quotes" }
    }

    private var usage: String {
        let value: String? =
            switch defaultValue {
            case .integer(let number): String(number)
            case .number(let number): number.plain
            case .bool, .string, .list, nil: nil
            }
        return "use \(allowed)" + (value.map { "; the default is \($0)" } ?? "")
    }

    private func inRange<Number: Comparable>(
        _ number: Number, _ range: ClosedRange<Number>, _ clamped: Bool, shown: String,
        _ wrap: (Number) -> SettingValue
    ) throws(Refusal) -> Accepted {
        if range.contains(number) { return Accepted(value: wrap(number)) }
        guard clamped else { throw Refusal(message: "\(shown) is out of range; \(usage)") }
        let nearest = min(max(number, range.lowerBound), range.upperBound)
        return Accepted(
            value: wrap(nearest), note: "\(shown) is out of range, the nearest is taken; \(usage)")
    }
}
