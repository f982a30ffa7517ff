internal import EnvelopeReader

/// What a rule waits for: a kind, and what that asks for besides.
package struct AlertCondition: Equatable, Sendable {
    /// The raw values are stored, and those of the interface.
    package enum Kind: String, CaseIterable, Sendable {
        /// A geofence is entered or left, or stayed in for as long as it asks.
        case geofence
        case ignition
        /// External power.
        case power
        case trip
        /// Nothing was uploaded for some time.
        case silence
        case battery
        case speed
        /// A vehicle that tracks, and whose receiver does not work.
        case failing

        /// The types of events that there are, as vehicles tell them; none for what the server finds.
        package var types: [String] {
            switch self {
            case .geofence: ["enter", "exit", "dwell"]
            case .ignition: ["on", "off"]
            case .power: ["lost", "back"]
            case .trip: ["started", "ended"]
            case .silence, .battery, .speed, .failing: []
            }
        }

        /// What it is compared with, in the unit that the name says, and what that may be.
        package var limit: (name: String, range: ClosedRange<Int64>)? {
            switch self {
            case .silence: ("minutes", 5...525_600)
            case .battery: ("percent", 1...90)
            case .speed: ("kilometers_per_hour", 1...1000)
            case .geofence, .ignition, .power, .trip, .failing: nil
            }
        }
    }

    package var kind: Kind
    /// One of the kind's types; nil: any.
    package var type: String?
    /// Id of the geofence, 1…100 characters; nil: any.
    package var fence: String?
    /// Minutes, per cent or km/h, as the kind says; 0 where it has none.
    package var limit: Int64

    package init(_ kind: Kind, type: String? = nil, fence: String? = nil, limit: Int64 = 0) {
        self.kind = kind
        self.type = type
        self.fence = fence
        self.limit = limit
    }

    /// - Parameter settings: as `settings` has them.
    /// - Returns: nil for what a newer version has stored.
    package init?(kind: String, settings: String) {
        guard let kind = Kind(rawValue: kind),
            let values = Array(settings.utf8).withUnsafeBytes({ bytes in try? FieldsReader.read(bytes) })
        else { return nil }
        self.init(kind)
        if case .text(let type)? = values["type"] { self.type = type }
        if case .text(let fence)? = values["fence"] { self.fence = fence }
        if let limit = kind.limit {
            guard case .number(let number)? = values[limit.name], limit.range.contains(number) else {
                return nil
            }
            self.limit = number
        }
    }

    /// The members of a JSON object, each begun with a comma: as the interface has them.
    package var members: String {
        var text = ""
        for (name, value) in [("type", type), ("fence", fence)] {
            if let value { text += ",\"\(name)\":\(JSONText.string(value))" }
        }
        if let name = kind.limit?.name { text += ",\"\(name)\":\(limit)" }
        return text
    }

    /// A JSON object, as it is stored.
    package var settings: String { "{\(members.dropFirst())}" }
}
