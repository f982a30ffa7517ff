internal import Base
package import DaemonConfiguration
internal import Envelope
internal import Tracking

// Arguments of a command: read strictly, because a misspelt one must not do something else; written in one way.

extension ServerCommand.Request {
    /// What it is called on the wire.
    package var name: Settings.Commands.Name {
        switch self {
        case .start: .start
        case .stop: .stop
        case .setConfig: .setConfig
        case .unsetConfig: .unsetConfig
        case .addGeofences: .addGeofences
        case .removeGeofences: .removeGeofences
        case .removeAllGeofences: .removeAllGeofences
        case .setMotion: .setMotion
        case .sync: .sync
        case .locate: .locate
        case .uploadLog: .uploadLog
        }
    }

    /// - Parameter arguments: a JSON object; nil: none.
    /// - Throws: what is wrong with the first that is.
    init(_ name: Settings.Commands.Name, _ arguments: JSON?) throws(CommandError) {
        var arguments = try CommandArguments(arguments)
        switch name {
        case .start: self = .start
        case .stop: self = .stop
        case .setConfig: self = .setConfig(try arguments.settings("settings"))
        case .unsetConfig: self = .unsetConfig(try arguments.texts("keys"))
        case .addGeofences: self = .addGeofences(try arguments.geofences("geofences"))
        case .removeGeofences: self = .removeGeofences(try arguments.texts("ids"))
        case .removeAllGeofences: self = .removeAllGeofences
        case .setMotion:
            guard let text = try arguments.text("motion"), let motion = MotionState(rawValue: text),
                motion != .unknown
            else { throw CommandError(.invalidArguments, "motion must be \"moving\" or \"stationary\"") }
            self = .setMotion(motion)
        case .sync: self = .sync
        case .locate: self = .locate
        case .uploadLog: self = .uploadLog(url: try arguments.text("url"))
        }
        try arguments.finish()
    }

    /// What ``init(_:_:)`` reads; nil for a command without any.
    var arguments: [String: JSON]? {
        switch self {
        case .start, .stop, .removeAllGeofences, .sync, .locate, .uploadLog(nil): nil
        case .setConfig(let settings): ["settings": .object(settings.mapValues(\.json))]
        case .unsetConfig(let keys): ["keys": .array(keys.map { .string($0) })]
        case .addGeofences(let fences): ["geofences": .array(fences.map { .object($0.members) })]
        case .removeGeofences(let ids): ["ids": .array(ids.map { .string($0) })]
        case .setMotion(let motion): ["motion": .string(motion.rawValue)]
        case .uploadLog(let url?): ["url": .string(url)]
        }
    }
}

/// The members of an object that have not been asked for yet.
struct CommandArguments {
    private var members: [String: JSON]
    /// What the object is, for complaints: `argument`, `member of geofence 2`.
    private let what: String
    private let kind: CommandError.Kind

    /// - Parameter value: nil and null: there are none.
    init(
        _ value: JSON?, what: String = "argument", kind: CommandError.Kind = .invalidArguments
    ) throws(CommandError) {
        switch value {
        case nil, .null: members = [:]
        case .object(let found): members = found
        case .bool, .number, .string, .array: throw CommandError(kind, "the \(what)s must be an object")
        }
        self.what = what
        self.kind = kind
    }

    /// Takes one out; null is as good as missing.
    mutating func take(_ name: String) -> JSON? {
        guard let value = members.removeValue(forKey: name), value != .null else { return nil }
        return value
    }

    func complaint(_ name: String, _ wanted: String) -> CommandError {
        CommandError(kind, "\(what) \(name) must be \(wanted)")
    }

    mutating func text(_ name: String) throws(CommandError) -> String? {
        guard let value = take(name) else { return nil }
        guard case .string(let text) = value else { throw complaint(name, "a text") }
        return text
    }

    mutating func number(_ name: String) throws(CommandError) -> Double? {
        guard let value = take(name) else { return nil }
        guard let number = value.double else { throw complaint(name, "a number") }
        return number
    }

    mutating func flag(_ name: String) throws(CommandError) -> Bool? {
        guard let value = take(name) else { return nil }
        guard case .bool(let flag) = value else { throw complaint(name, "true or false") }
        return flag
    }

    /// At least one text.
    mutating func texts(_ name: String) throws(CommandError) -> [String] {
        guard case .array(let values)? = take(name), !values.isEmpty else {
            throw complaint(name, "a list of at least one text")
        }
        let texts = values.compactMap { value in
            if case .string(let text) = value { text } else { nil }
        }
        guard texts.count == values.count else { throw complaint(name, "a list of texts") }
        return texts
    }

    /// At least one setting.
    mutating func settings(_ name: String) throws(CommandError) -> [String: SettingValue] {
        guard case .object(let values)? = take(name), !values.isEmpty else {
            throw complaint(name, "an object of at least one setting")
        }
        var settings: [String: SettingValue] = [:]
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let setting = SettingValue(value) else {
                throw CommandError(
                    .invalidArguments, "\(key) must be true, false, a number, a text or a list of texts")
            }
            settings[key] = setting
        }
        return settings
    }

    /// At least one geofence.
    mutating func geofences(_ name: String) throws(CommandError) -> [Geofence] {
        guard case .array(let values)? = take(name), !values.isEmpty else {
            throw complaint(name, "a list of at least one geofence")
        }
        var fences: [Geofence] = []
        for (index, value) in values.enumerated() {
            var members = try CommandArguments(
                value, what: "geofence \(index + 1): member", kind: .invalidGeofence)
            fences.append(try members.geofence())
            try members.finish()
        }
        return fences
    }

    /// - Throws: unless everything has been taken.
    func finish() throws(CommandError) {
        guard let name = members.keys.min() else { return }
        throw CommandError(kind, "\(what) \(name) is not known")
    }
}

extension CommandArguments {
    /// A geofence as the control interface has it. A polygon is taken before a circle: a list can be sent back as it came,
    /// and has both.
    mutating func geofence() throws(CommandError) -> Geofence {
        guard let id = try text("id") else { throw complaint("id", "a text") }
        let circle = (try number("latitude"), try number("longitude"), try number("radius_meters"))
        let entry = try flag("notify_on_entry") ?? true
        let exit = try flag("notify_on_exit") ?? true
        let dwell = try number("dwell_seconds")
        // What a vehicle says of its fences beside their shape.
        _ = try flag("inside")
        let refuse = { (reason: String) in
            CommandError(
                .invalidGeofence, "\(CommandError.printable(id, limit: Geofence.idLimit)): \(reason)")
        }
        let polygon = take("polygon")
        let ring = polygon?.ring
        if polygon != nil, ring == nil { throw refuse("polygon must be a list of [longitude, latitude]") }
        do throws(Geofence.Invalid) {
            if let ring {
                return try Geofence(
                    id: id, ring: ring, notifiesOnEntry: entry, notifiesOnExit: exit, dwell: dwell)
            }
            if case (let latitude?, let longitude?, let radius?) = circle {
                return try Geofence(
                    id: id, latitude: latitude, longitude: longitude, radius: radius, notifiesOnEntry: entry,
                    notifiesOnExit: exit, dwell: dwell)
            }
        } catch { throw refuse(error.reason) }
        throw refuse("give latitude, longitude and radius_meters, or a polygon")
    }
}

extension Geofence {
    /// What ``CommandArguments/geofence()`` reads.
    fileprivate var members: [String: JSON] {
        var members: [String: JSON] = [
            "id": .string(id), "notify_on_entry": .bool(notifiesOnEntry),
            "notify_on_exit": .bool(notifiesOnExit),
        ]
        if let dwell { members["dwell_seconds"] = .number("\(dwell)") }
        if let polygon {
            members["polygon"] = .array(
                polygon.corners.map { .array([.number("\($0.longitude)"), .number("\($0.latitude)")]) })
        } else {
            members["latitude"] = .number("\(centre.latitude)")
            members["longitude"] = .number("\(centre.longitude)")
            members["radius_meters"] = .number("\(radius)")
        }
        return members
    }
}

extension JSON {
    /// A list of lists of numbers; nil for any other value.
    var ring: [[Double]]? {
        guard case .array(let positions) = self else { return nil }
        var ring: [[Double]] = []
        for position in positions {
            guard case .array(let values) = position else { return nil }
            let numbers = values.compactMap(\.double)
            guard numbers.count == values.count else { return nil }
            ring.append(numbers)
        }
        return ring
    }
}

extension SettingValue {
    /// nil for what no setting can be.
    init?(_ value: JSON) {
        switch value {
        case .bool(let flag): self = .bool(flag)
        case .number(let text):
            if let whole = Int(text) {
                self = .integer(whole)
            } else if let number = value.double {
                self = .number(number)
            } else {
                return nil
            }
        case .string(let text): self = .string(text)
        case .array(let values):
            let texts = values.compactMap { value in
                if case .string(let text) = value { text } else { nil }
            }
            guard texts.count == values.count else { return nil }
            self = .list(texts)
        case .null, .object: return nil
        }
    }

    fileprivate var json: JSON {
        switch self {
        case .bool(let flag): .bool(flag)
        case .integer(let number): .number(String(number))
        case .number(let number): .number("\(number)")
        case .string(let text): .string(text)
        case .list(let texts): .array(texts.map { .string($0) })
        }
    }
}
