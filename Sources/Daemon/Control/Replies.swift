internal import Base
internal import ControlProtocol
internal import Tracking

// The result of a command in the terms of each method. nil: that is no outcome of this command.

extension Wire.Start.Result {
    init?(_ completion: Completion) {
        guard case .session(let id) = completion else { return nil }
        self.init(state: .tracking, sessionId: id.description)
    }
}

extension Wire.DeleteLocations.Result {
    init?(_ completion: Completion) {
        guard case .removal(let removed, let kept) = completion else { return nil }
        self.init(removed: removed, kept: kept.isEmpty ? nil : kept)
    }
}

extension Wire.Sync.Result {
    init?(_ completion: Completion) {
        guard case .synced(let result) = completion else { return nil }
        let trouble = result.trouble
        self.init(
            outcome: result.outcome.rawValue, uploaded: result.uploaded, pending: result.pending,
            rejected: result.rejected > 0 ? result.rejected : nil, httpStatus: trouble?.httpStatus,
            mqttCode: trouble?.mqttCode, error: trouble?.error, reason: trouble?.reason,
            destination: result.destination?.text)
    }
}

extension Wire.Rebatch.Result {
    init?(_ completion: Completion) {
        guard case .rebatched(let result) = completion else { return nil }
        self.init(batchId: result.batch.description, rows: result.rows)
    }
}

extension Wire.GetCurrentLocation.Result {
    init?(_ completion: Completion) {
        guard case .location(let location) = completion else { return nil }
        self.init(location: location.map { Wire.Location($0) })
    }
}

extension Wire.Configure.Result {
    init?(_ completion: Completion) {
        guard let late = completion.late else { return nil }
        self.init(adopting: late)
    }
}

extension Wire.ResetConfig.Result {
    init?(_ completion: Completion) {
        guard let late = completion.late else { return nil }
        self.init(adopting: late)
    }
}

extension Wire.ResetServerConfig.Result {
    init?(_ completion: Completion) {
        guard case .adopted(let removed, _) = completion, let late = completion.late else { return nil }
        self.init(removed: removed, adopting: late)
    }
}

extension Wire.Reload.Result {
    init?(_ completion: Completion) {
        guard let late = completion.late else { return nil }
        self.init(adopting: late)
    }
}

extension Wire.Empty {
    init?(_ completion: Completion) {
        guard case .done = completion else { return nil }
        self.init()
    }
}

extension Completion {
    /// Destinations that do not go by new settings yet: absent in replies where there are none. nil: this is
    /// no outcome of a change of settings.
    fileprivate var late: [String]?? {
        guard case .adopted(_, let late) = self else { return nil }
        return .some(late.isEmpty ? nil : late.map(\.text))
    }

    var count: Int? {
        if case .count(let count) = self { count } else { nil }
    }
}

extension ControlError {
    init(_ failure: Failure) {
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
