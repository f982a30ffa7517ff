/// The errors of a reply: those of `org.beekond.Tracker` and those of `org.varlink.service`.
package enum ControlError: Error, Equatable, Sendable {
    /// The database cannot be read or written.
    case storageFailure(reason: String)
    /// No fix can arrive: gpsd is unreachable or has no device.
    case locationUnavailable(reason: String)
    /// A configuration value is refused; nothing was changed.
    case invalidConfiguration(key: String, reason: String)
    /// A geofence is refused; none was added.
    case invalidGeofence(id: String, reason: String)
    /// Nothing is tracked, and the method is about tracking.
    case notTracking
    /// No batch can be dissolved now.
    case rebatchRefused(reason: String)
    /// Text that is not an ISO 8601 time.
    case invalidTime(value: String)
    /// More rows than fit into one reply: call with `more`.
    case tooMany(limit: Int)
    /// Called too often; try again after this many seconds.
    case rateLimited(retryAfterSeconds: Int)

    case interfaceNotFound(String)
    case methodNotFound(String)
    /// The interface has the method, but this daemon does not implement it.
    case methodNotImplemented(String)
    /// The named parameter is unknown, missing or of the wrong type.
    case invalidParameter(String)
    case permissionDenied
    /// The group of administrators is not privileged enough: why, and who is.
    case denied(reason: String)
    /// The method can only be called with `more`.
    case expectedMore

    /// An error that a newer daemon may report.
    case other(name: String, parameters: [String: JSONValue])
}

extension ControlError {
    /// The full name on the wire.
    package var name: String {
        switch self {
        case .storageFailure: Self.tracker + "StorageFailure"
        case .locationUnavailable: Self.tracker + "LocationUnavailable"
        case .invalidConfiguration: Self.tracker + "InvalidConfiguration"
        case .invalidGeofence: Self.tracker + "InvalidGeofence"
        case .notTracking: Self.tracker + "NotTracking"
        case .rebatchRefused: Self.tracker + "RebatchRefused"
        case .invalidTime: Self.tracker + "InvalidTime"
        case .tooMany: Self.tracker + "TooMany"
        case .rateLimited: Self.tracker + "RateLimited"
        case .interfaceNotFound: Self.service + "InterfaceNotFound"
        case .methodNotFound: Self.service + "MethodNotFound"
        case .methodNotImplemented: Self.service + "MethodNotImplemented"
        case .invalidParameter: Self.service + "InvalidParameter"
        case .permissionDenied, .denied: Self.service + "PermissionDenied"
        case .expectedMore: Self.service + "ExpectedMore"
        case .other(let name, _): name
        }
    }

    package var parameters: [String: JSONValue] {
        switch self {
        case .storageFailure(let reason), .locationUnavailable(let reason), .rebatchRefused(let reason),
            .denied(let reason):
            ["reason": .string(reason)]
        case .invalidConfiguration(let key, let reason): ["key": .string(key), "reason": .string(reason)]
        case .invalidGeofence(let id, let reason): ["id": .string(id), "reason": .string(reason)]
        case .invalidTime(let value): ["value": .string(value)]
        case .tooMany(let limit): ["limit": .integer(Int64(limit))]
        case .rateLimited(let seconds): ["retry_after_seconds": .integer(Int64(seconds))]
        case .interfaceNotFound(let interface): ["interface": .string(interface)]
        case .methodNotFound(let method), .methodNotImplemented(let method): ["method": .string(method)]
        case .invalidParameter(let parameter): ["parameter": .string(parameter)]
        case .notTracking, .permissionDenied, .expectedMore: [:]
        case .other(_, let parameters): parameters
        }
    }

    /// Decodes an error reply. An unknown name becomes `other`. A missing parameter becomes empty or 0, since the
    /// name alone says what happened.
    package init(name: String, parameters: [String: JSONValue]) {
        func text(_ key: String) -> String { parameters[key]?.stringValue ?? "" }
        func number(_ key: String) -> Int { Int(parameters[key]?.integerValue ?? 0) }
        self =
            switch name {
            case Self.tracker + "StorageFailure": .storageFailure(reason: text("reason"))
            case Self.tracker + "LocationUnavailable": .locationUnavailable(reason: text("reason"))
            case Self.tracker + "InvalidConfiguration":
                .invalidConfiguration(key: text("key"), reason: text("reason"))
            case Self.tracker + "InvalidGeofence": .invalidGeofence(id: text("id"), reason: text("reason"))
            case Self.tracker + "RebatchRefused": .rebatchRefused(reason: text("reason"))
            case Self.tracker + "NotTracking": .notTracking
            case Self.tracker + "InvalidTime": .invalidTime(value: text("value"))
            case Self.tracker + "TooMany": .tooMany(limit: number("limit"))
            case Self.tracker + "RateLimited": .rateLimited(retryAfterSeconds: number("retry_after_seconds"))
            case Self.service + "InterfaceNotFound": .interfaceNotFound(text("interface"))
            case Self.service + "MethodNotFound": .methodNotFound(text("method"))
            case Self.service + "MethodNotImplemented": .methodNotImplemented(text("method"))
            case Self.service + "InvalidParameter": .invalidParameter(text("parameter"))
            case Self.service + "PermissionDenied":
                text("reason").isEmpty ? .permissionDenied : .denied(reason: text("reason"))
            case Self.service + "ExpectedMore": .expectedMore
            default: .other(name: name, parameters: parameters)
            }
    }

    private static let tracker = Wire.trackerInterface + "."
    private static let service = Wire.serviceInterface + "."
}
