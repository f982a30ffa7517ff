internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Tracking

/// The commands of Transistorsoft's HTTP guide, in terms of ours. The manual has the same table.
enum GuideCommand: String, CaseIterable {
    case start
    case stop
    case startGeofences
    case changePace
    case setConfig
    case addGeofence
    case addGeofences
    case removeGeofence
    case removeGeofences
    case uploadLog
    case destroyLog

    /// What the guide's server asks for.
    ///
    /// - Parameters:
    ///   - arguments: what follows the name in the list.
    ///   - destination: whose settings `autoSyncThreshold` and `maxBatchSize` are.
    /// - Returns: our name for it, nil where there is none, and what it comes to.
    static func translated(
        _ name: String, _ arguments: [JSON], for destination: DestinationName
    ) -> (name: String?, content: ServerCommand.Content) {
        guard let command = GuideCommand(rawValue: name) else {
            return (nil, .refused(CommandError(.unknownCommand)))
        }
        do throws(CommandError) {
            guard arguments.count <= 1 else {
                throw CommandError(.invalidArguments, "\(name) takes one argument at most")
            }
            let argument = arguments.first == .null ? nil : arguments.first
            let request = try command.request(argument, for: destination)
            return (request.name.rawValue, .request(request))
        } catch {
            return (nil, .refused(error))
        }
    }

    private func request(
        _ argument: JSON?, for destination: DestinationName
    ) throws(CommandError) -> ServerCommand.Request {
        switch self {
        case .start, .startGeofences, .stop:
            guard argument == nil else { throw CommandError(.invalidArguments, "\(rawValue) takes none") }
            // Geofences are judged while nothing is tracked, too: the guide's other mode is to be stopped here.
            return self == .start ? .start : .stop
        case .changePace:
            guard case .bool(let moves)? = argument else { throw wrong("true or false") }
            return .setMotion(moves ? .moving : .stationary)
        case .setConfig:
            guard case .object(let config)? = argument else { throw wrong("an object") }
            return .setConfig(try GuideSettings.translated(config, for: destination))
        case .addGeofence:
            guard let fence = argument, case .object = fence else { throw wrong("an object") }
            return .addGeofences([try geofence(fence, 0)])
        case .addGeofences:
            guard case .array(let fences)? = argument, !fences.isEmpty else {
                throw wrong("a list of at least one geofence")
            }
            var added: [Geofence] = []
            for (index, fence) in fences.enumerated() { added.append(try geofence(fence, index)) }
            return .addGeofences(added)
        case .removeGeofence:
            guard case .string(let id)? = argument else { throw wrong("a text") }
            return .removeGeofences([id])
        case .removeGeofences:
            guard let argument else { return .removeAllGeofences }
            guard case .array(let values) = argument, !values.isEmpty else {
                throw wrong("a list of at least one text, or left out to remove all")
            }
            let ids = values.compactMap { value -> String? in
                if case .string(let id) = value { id } else { nil }
            }
            guard ids.count == values.count else { throw wrong("a list of texts") }
            return .removeGeofences(ids)
        case .uploadLog:
            guard let argument else { return .uploadLog(url: nil) }
            guard case .string(let url) = argument else { throw wrong("a text") }
            return .uploadLog(url: url)
        case .destroyLog:
            throw CommandError(
                .unsupported,
                "destroyLog: the log belongs to the vehicle's owner, and no server may delete it")
        }
    }

    private func wrong(_ wanted: String) -> CommandError {
        CommandError(.invalidArguments, "the argument of \(rawValue) must be \(wanted)")
    }

    /// A geofence as the guide has it, whose corners are latitude and longitude.
    private func geofence(_ value: JSON, _ index: Int) throws(CommandError) -> Geofence {
        guard case .object(var members) = value else {
            throw CommandError(.invalidGeofence, "geofence \(index + 1) must be an object")
        }
        // What the guide's own software writes there of itself.
        for name in ["entryState", "hits", "stateUpdatedAt"] { members[name] = nil }
        for (name, own) in [
            ("identifier", "id"), ("radius", "radius_meters"), ("notifyOnEntry", "notify_on_entry"),
            ("notifyOnExit", "notify_on_exit"), ("vertices", "polygon"),
        ] {
            if members[own] != nil {
                throw CommandError(.invalidGeofence, "geofence \(index + 1): member \(own) is not known")
            }
            members[own] = members.removeValue(forKey: name)
        }
        if case .array(let corners)? = members["polygon"] {
            members["polygon"] = .array(
                corners.map { corner in
                    if case .array(let pair) = corner { .array(pair.reversed()) } else { corner }
                })
        }
        try translateStay(in: &members, index)
        // The guide notifies of nothing that is not asked for.
        for name in ["notify_on_entry", "notify_on_exit"] where members[name] == nil {
            members[name] = .bool(false)
        }
        var arguments = try CommandArguments(
            .object(members), what: "geofence \(index + 1): member", kind: .invalidGeofence)
        let fence = try arguments.geofence()
        try arguments.finish()
        return fence
    }

    /// A stay as the guide has it: asked for by one member, and how long, in milliseconds, by another.
    private func translateStay(in members: inout [String: JSON], _ index: Int) throws(CommandError) {
        if members["dwell_seconds"] != nil {
            throw CommandError(
                .invalidGeofence, "geofence \(index + 1): member dwell_seconds is not known")
        }
        guard case .bool(let notifies)? = members["notifyOnDwell"] else { return }
        members["notifyOnDwell"] = nil
        let delay = members.removeValue(forKey: "loiteringDelay")?.double ?? 0
        guard notifies else { return }
        guard delay > 0 else {
            throw CommandError(
                .invalidGeofence,
                "geofence \(index + 1): with notifyOnDwell, loiteringDelay must be more than 0 milliseconds")
        }
        members["dwell_seconds"] = .number("\(delay / 1000)")
    }
}
