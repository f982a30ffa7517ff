internal import Base
internal import FoundationEssentials

/// How far a vehicle is with the fences that it is to have, and what it is told next. Pure.
///
/// What the vehicle has confirmed is kept by name and fingerprint; the sum of the fingerprints is the digest that it reports of its
/// servers' fences. Where that is another one, somebody else has changed them, or one of the two has lost something: all is told
/// anew. If it is the same other one before and afterwards, the vehicle has fences of other servers besides, and that counts as
/// right.
struct FenceProgress: Equatable, Sendable, Codable {
    /// A fence that the vehicle does not take as it is.
    struct Refusal: Equatable, Sendable, Codable {
        var fingerprint: UInt64
        /// Unix milliseconds.
        var since: Int64
        var reason: String
    }

    /// Fingerprints by name.
    var told: [String: UInt64] = [:]
    /// Another digest than that of `told`, which counts as right.
    var accepted: UInt64?
    /// Another digest, because of which all is told anew.
    var doubted: UInt64?
    var refused: [String: Refusal] = [:]
    /// Before this Unix millisecond nothing more is ordered.
    var due: Int64?
    /// The hour for which orders are counted, and how many there were.
    var hourBegan: Int64 = 0
    var ordered = 0
    /// Why the vehicle takes none at the moment, in its own words.
    var trouble: String?

    /// Orders within an hour: a vehicle takes 60 commands, and others want some, too.
    static let mostInHour = 20
    /// Bytes of the arguments of one order, but for a fence that is longer by itself.
    static let longestOrder = 12 << 10
    /// Bytes of the arguments of all orders of one answer.
    static let longestList = 24 << 10
    private static let hour: Int64 = 3_600_000
    /// What was refused is told again after a day: a person's fence of that name may be gone.
    private static let day: Int64 = 86_400_000

    /// The digest that a vehicle reports which has these fences, and no others of a server.
    var digest: UInt64 { told.values.reduce(0, &+) }

    /// What a vehicle says of itself, as far as it matters here; nil is what it does not say.
    struct Word: Equatable, Sendable {
        var state: String?
        /// Commands that it takes.
        var commands: [String]?
        var digest: UInt64?

        func takes(_ command: String) -> Bool { commands?.contains(command) ?? true }
    }

    /// An order that was given, and what came of it.
    struct Order: Equatable, Sendable {
        var number: Int64
        /// Fingerprints by name; nil for an order that removes.
        var added: [String: UInt64]?
        var removed: [String] = []
        var end: End?

        enum End: Equatable, Sendable {
            case done
            /// With the vehicle's error.
            case refused(String)
            /// Withdrawn, or too old.
            case dropped
        }
    }

    /// An order that is to be given.
    struct Draft: Equatable, Sendable {
        var command: String
        /// A JSON object.
        var arguments: String
    }

    // MARK: What has come back

    /// Takes up the end of an order.
    mutating func settle(_ order: Order, now: Timestamp) {
        switch order.end {
        case .done?:
            for (name, fingerprint) in order.added ?? [:] {
                told[name] = fingerprint
                refused[name] = nil
            }
            for name in order.removed { told[name] = nil }
            trouble = nil
        case .refused(let error)?: refuse(order, error, now: now)
        case .dropped?, nil: break
        }
    }

    private mutating func refuse(_ order: Order, _ error: String, now: Timestamp) {
        let parts = error.split(separator: ":", maxSplits: 1)
        let detail = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
        switch parts.first {
        case "exists", "invalid_geofence":
            // It names the one for which all were refused.
            let named = (order.added ?? [:]).filter { detail == $0.key || detail.hasPrefix($0.key + ":") }
            for (name, fingerprint) in named.isEmpty ? order.added ?? [:] : named {
                refused[name] = Refusal(fingerprint: fingerprint, since: now.milliseconds, reason: error)
            }
        // They wait for what the vehicle says of itself.
        case "stopped_by_person", "not_allowed": trouble = error
        default:
            trouble = error
            due = now.milliseconds + Self.hour
        }
    }

    /// Compares with what the vehicle reports.
    ///
    /// - Parameter isLate: no order is under way, and none has just ended: else the report may be older than its end.
    mutating func compare(_ reported: UInt64, isLate: Bool, to target: [FenceBook.Entry]) {
        if reported == digest { (accepted, doubted) = (nil, nil) }
        guard isLate, reported != digest, reported != accepted else { return }
        guard reported != doubted, target.contains(where: { told[$0.name] != nil }) else {
            (accepted, doubted) = (reported, nil)
            return
        }
        doubted = reported
        for entry in target { told[entry.name] = nil }
    }

    // MARK: What is next

    /// Whether it has what it is to have, but for what it refuses.
    func isSettled(_ target: [FenceBook.Entry]) -> Bool {
        doubted == nil && !target.contains(where: isMissing) && leftovers(target).isEmpty
    }

    private func isMissing(_ entry: FenceBook.Entry) -> Bool {
        told[entry.name] != entry.fingerprint && refused[entry.name]?.fingerprint != entry.fingerprint
    }

    /// Fences that it is to forget.
    private func leftovers(_ target: [FenceBook.Entry]) -> [String] {
        let names = Set(target.map(\.name))
        return told.keys.filter { !names.contains($0) }.sorted()
    }

    /// What the vehicle is to be told now, as much of it as one answer holds.
    ///
    /// - Parameter room: orders that there is room for.
    mutating func next(
        _ target: [FenceBook.Entry], for vehicle: Word, room: Int, now: Timestamp
    ) -> [Draft] {
        forgetOld(target, now: now)
        // One that is further away was set by a clock that was ahead.
        if let due, now.milliseconds < due, due - now.milliseconds <= Self.hour { return [] }
        due = nil
        let isNewHour = abs(now.milliseconds - hourBegan) >= Self.hour
        let left = Self.mostInHour - (isNewHour ? 0 : ordered)
        var drafts: [Draft] = []
        if vehicle.takes("remove_geofences") { drafts += Self.removals(of: leftovers(target)) }
        if mayAdd(vehicle) { drafts += Self.additions(of: target.filter(isMissing)) }
        var size = 0
        drafts = Array(
            drafts.prefix(max(0, min(room, left))).prefix { draft in
                defer { size += draft.arguments.utf8.count }
                return size == 0 || size + draft.arguments.utf8.count <= Self.longestList
            })
        guard !drafts.isEmpty else { return [] }
        if isNewHour { (hourBegan, ordered) = (now.milliseconds, 0) }
        ordered += drafts.count
        if ordered >= Self.mostInHour { due = hourBegan + Self.hour }
        return drafts
    }

    private mutating func forgetOld(_ target: [FenceBook.Entry], now: Timestamp) {
        let wanted = Dictionary(target.map { ($0.name, $0.fingerprint) }) { $1 }
        refused = refused.filter { name, refusal in
            wanted[name] == refusal.fingerprint && abs(now.milliseconds - refusal.since) < Self.day
        }
    }

    /// A person's stop holds until the vehicle says something else; so does what its configuration does not allow.
    private mutating func mayAdd(_ vehicle: Word) -> Bool {
        guard vehicle.takes("add_geofences") else {
            trouble = "not_allowed"
            return false
        }
        guard let trouble else { return true }
        if trouble.hasPrefix("stopped_by_person"), vehicle.state == nil || vehicle.state == "stopped" {
            return false
        }
        if trouble.hasPrefix("not_allowed"), vehicle.commands == nil { return false }
        self.trouble = nil
        return true
    }

    private static func removals(of names: [String]) -> [Draft] {
        lists(names.map { FenceBook.quoted($0) }).map {
            Draft(command: "remove_geofences", arguments: #"{"ids":["# + $0.joined(separator: ",") + "]}")
        }
    }

    private static func additions(of entries: [FenceBook.Entry]) -> [Draft] {
        lists(entries.map(\.object)).map {
            Draft(command: "add_geofences", arguments: #"{"geofences":["# + $0.joined(separator: ",") + "]}")
        }
    }

    /// Elements in lists that are no longer than an order.
    private static func lists(_ elements: [String]) -> [[String]] {
        var lists: [[String]] = []
        var size = 0
        for element in elements {
            if lists.isEmpty || size + element.utf8.count > longestOrder {
                lists.append([])
                size = 0
            }
            lists[lists.count - 1].append(element)
            size += element.utf8.count + 1
        }
        return lists
    }

    // MARK: As it is kept

    private enum CodingKeys: String, CodingKey {
        case told, accepted, doubted, refused, due, ordered, trouble
        case hourBegan = "hour_began"
    }

    /// JSON.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    /// - Returns: what nothing is known of, for a text that is none, as after damage: all is told anew.
    init(text: String) {
        self = (try? JSONDecoder().decode(FenceProgress.self, from: Data(text.utf8))) ?? FenceProgress()
    }

    init() {}
}
