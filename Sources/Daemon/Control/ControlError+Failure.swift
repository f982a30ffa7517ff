internal import ControlProtocol

extension ControlError {
    init(_ failure: CommandFailure) {
        self =
            switch failure.kind {
            case .storage: .storageFailure(reason: failure.reason)
            case .location: .locationUnavailable(reason: failure.reason)
            case .busy(let seconds): .rateLimited(retryAfterSeconds: seconds)
            case .geofence(let id): .invalidGeofence(id: id, reason: failure.reason)
            // It is the server that is refused this, over another way.
            case .exists(let id): .invalidGeofence(id: id, reason: "it is a person's")
            case .setting(let key): .invalidConfiguration(key: key, reason: failure.reason)
            case .parameter(let name): .invalidParameter(name)
            case .time(let text): .invalidTime(value: text)
            case .noRebatch: .rebatchRefused(reason: failure.reason)
            case .notTracking: .notTracking
            // It is the server that is refused this, over another way.
            case .stoppedByPerson: .denied(reason: "a person has stopped tracking")
            case .denied: failure.reason.isEmpty ? .permissionDenied : .denied(reason: failure.reason)
            }
    }
}
