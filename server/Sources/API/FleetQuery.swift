internal import Base
internal import HTTPTypes
internal import ServerStore

/// What of the fleet's events, or alerts, is asked for: `?from=…&to=…&device=…&group=…&kind=…&rule=…&before=…&limit=…`.
struct FleetQuery: Equatable {
    var selection: Reading.Selection
    /// Alerts alone have one.
    var rule: Int64?
    /// The last of the page before.
    var place: Reading.Place?
    /// Elements; 0: none is asked for.
    var limit = 100

    private static let most = 1000
    /// Characters of a kind and of a group's name.
    private static let longest = 100

    /// - Parameter query: as it stands behind the `?`; nil when there is none.
    init(_ query: Substring?, hasRule: Bool) throws(Problem) {
        var (from, to) = try Self.everything()
        selection = Reading.Selection(range: from...to)
        for (name, value) in try LocationQuery.pairs(query) {
            switch name {
            case "from": from = try LocationQuery.time(value, "from")
            case "to": to = try LocationQuery.time(value, "to")
            case "device": selection.device = try Self.number(value, "device")
            case "rule" where hasRule: rule = try Self.number(value, "rule")
            case "group": selection.group = try Self.text(value, "group")
            case "kind": selection.kind = try Self.text(value, "kind")
            case "before": place = try Self.place(value)
            case "limit":
                guard let number = Int(value), (1...Self.most).contains(number) else {
                    throw Problem(.badRequest, "limit must be a number within 1…\(Self.most).")
                }
                limit = number
            default:
                throw Problem(
                    .badRequest,
                    "There is no such parameter; use from, to, device, group, kind, \(hasRule ? "rule, " : "")before and limit."
                )
            }
        }
        selection.range = min(from, to)...to
        // There is nothing in between.
        if from > to { limit = 0 }
    }

    private static func everything() throws(Problem) -> (Timestamp, Timestamp) {
        let range = try LocationQuery(nil).range
        return (range.lowerBound, range.upperBound)
    }

    private static func number(_ text: String, _ name: String) throws(Problem) -> Int64 {
        guard let number = Int64(text), number > 0 else {
            throw Problem(.badRequest, "\(name) must be a number from 1 on.")
        }
        return number
    }

    private static func text(_ text: String, _ name: String) throws(Problem) -> String {
        guard !text.isEmpty, text.unicodeScalars.count <= longest, !text.utf8.contains(0) else {
            throw Problem(.badRequest, "\(name) must have 1 to \(longest) characters.")
        }
        return text
    }

    /// Reads what `cursor` of an element says.
    private static func place(_ text: String) throws(Problem) -> Reading.Place {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]), let id = UUIDv7(String(parts[1])) else {
            throw Problem(.badRequest, "before must be the cursor of an element of this list.")
        }
        return Reading.Place(time: Timestamp(milliseconds: time), id: id)
    }

    static func cursor(_ time: Timestamp, _ id: UUIDv7) -> String { "\(time.milliseconds).\(id)" }
}
