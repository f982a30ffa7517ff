internal import Base
internal import EnvelopeReader

/// The rules that hold at a moment, as uploads are judged by them: one snapshot for all of these.
package struct RuleBook: Sendable {
    struct Entry: Sendable {
        let rule: AlertRule
        let condition: AlertCondition

        func watches(_ vehicle: Vehicle) -> Bool {
            if let device = rule.device { return device == vehicle.id }
            return rule.group == nil || rule.group == vehicle.group
        }
    }

    /// A vehicle as an alert names it.
    struct Vehicle {
        let id: Int64
        let name: String
        let group: Int64?
    }

    private let entries: [AlertCondition.Kind: [Entry]]

    /// - Returns: nil when there is none to judge by.
    package init?(_ rules: [AlertRule]) {
        var entries: [AlertCondition.Kind: [Entry]] = [:]
        for rule in rules {
            guard let condition = AlertCondition(kind: rule.kind, settings: rule.settings) else { continue }
            entries[condition.kind, default: []].append(Entry(rule: rule, condition: condition))
        }
        guard !entries.isEmpty else { return nil }
        self.entries = entries
    }

    func entries(_ kind: AlertCondition.Kind) -> [Entry] { entries[kind] ?? [] }

    /// Whether the server has to look for vehicles that are silent.
    package var watchesSilence: Bool { entries[.silence] != nil }

    /// Whether the vehicle of an upload has to be looked up, as far as can be said without the database.
    func isConcerned(by rows: NewRows) -> Bool {
        if !rows.events.isEmpty, entries[.geofence] != nil { return true }
        if rows.vehicleEvents.contains(where: { Told.kind($0).flatMap { entries[$0] } != nil }) {
            return true
        }
        if rows.submission.batch.remarks.status != nil,
            entries[.battery] != nil || entries[.failing] != nil
        {
            return true
        }
        guard let least = entries[.speed]?.map(\.condition.limit).min() else { return false }
        return rows.locations.contains { Speeding.isOver($0, least) }
    }
}

/// What of an upload was not stored before.
struct NewRows: Sendable {
    var submission: Submission
    var locations: [LocationRow] = []
    var events: [EventRow] = []
    var vehicleEvents: [VehicleEvent] = []

    var keys: Set<RowKey> {
        func key(_ row: some TimedRow) -> RowKey {
            RowKey(device: submission.device, time: row.time.milliseconds, id: row.id)
        }
        return Set(locations.map(key) + events.map(key) + vehicleEvents.map(key))
    }
}

/// What an event of a vehicle says beside its kind and time, as far as it is understood.
struct Told: Decodable {
    var type: String?
    var subject: String?

    private enum CodingKeys: String, CodingKey {
        case type, subject
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        type = try? values.decodeIfPresent(String.self, forKey: .type)
        subject = try? values.decodeIfPresent(String.self, forKey: .subject)
    }

    /// The kind of rules that an event is for; nil: of none.
    static func kind(_ event: VehicleEvent) -> AlertCondition.Kind? {
        switch event.kind {
        case "ignition": .ignition
        case "power": .power
        case "trip": .trip
        case "dwell": .geofence
        default: nil
        }
    }
}

/// What a vehicle says of its state, as far as rules ask.
struct ToldStatus: Decodable {
    var state: String?
    var receiver: String?
    /// 0…1.
    var battery: Double?

    /// States of a receiver that gives no fixes, with words for people: those that the page calls failing.
    static let troubles = [
        "disconnected": "gpsd does not answer", "no_device": "no receiver is connected",
        "no_fix": "the receiver has no fix", "unsettled": "the receiver's time is not settled",
        "stale": "the receiver has gone silent",
    ]

    private enum CodingKeys: String, CodingKey {
        case state, receiver
        case battery = "battery_level"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        state = try? values.decodeIfPresent(String.self, forKey: .state)
        receiver = try? values.decodeIfPresent(String.self, forKey: .receiver)
        battery = (try? values.decodeIfPresent(Double.self, forKey: .battery)).flatMap { level in
            level.flatMap { (0...1).contains($0) ? $0 : nil }
        }
    }

    /// Why the vehicle fails; nil: it does not.
    var trouble: String? { state == "tracking" ? receiver.flatMap { Self.troubles[$0] } : nil }
}

/// Stretches in which a vehicle drives faster than a limit.
enum Speeding {
    /// Seconds without a location after which a stretch has ended.
    static let gap = 3600.0
    /// Stretches of one upload that count for each rule, the newest.
    static let most = 10

    /// - Parameter limit: km/h.
    static func isOver(_ row: LocationRow, _ limit: Int64) -> Bool {
        row.speed.map { $0 * 3.6 > Double(limit) } ?? false
    }

    /// The stretches among locations, the newest first.
    ///
    /// - Parameter rows: by time. Those without a speed say nothing.
    static func stretches(in rows: [LocationRow], over limit: Int64) -> [[LocationRow]] {
        var found: [[LocationRow]] = []
        var isOpen = false
        for row in rows where row.speed != nil {
            guard isOver(row, limit) else {
                isOpen = false
                continue
            }
            if isOpen, let last = found.last?.last, row.time.seconds(since: last.time) <= gap {
                found[found.count - 1].append(row)
            } else {
                found.append([row])
            }
            isOpen = true
        }
        return found.suffix(most).reversed()
    }
}
