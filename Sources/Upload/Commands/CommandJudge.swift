package import Base
package import DaemonConfiguration
internal import Envelope
package import Tracking

/// Says whether a command is carried out, right before it would be: settings and wishes may have changed since it came. Pure.
package enum CommandJudge {
    package enum Verdict: Equatable, Sendable {
        case run(ServerCommand.Request)
        case refuse(CommandError)
        /// The time is not known, and it must not run after another. Those behind it wait as well.
        case wait
    }

    /// - Parameters:
    ///   - sync: the settings of the destination that has sent it; nil: it is not configured any more.
    ///   - wish: what decides whether to track.
    ///   - time: by a trusted clock; nil: it is not known.
    package static func judge(
        _ command: ServerCommand, by sync: Settings.Sync?, while wish: Wish?, at time: Timestamp?
    ) -> Verdict {
        switch command.content {
        case .refused(let error): return .refuse(error)
        case .request(let request):
            guard let sync, let rules = sync.commands else {
                return .refuse(CommandError(.notAllowed, "this server may not command any more"))
            }
            if let warrant = command.warrant {
                guard let time else { return .wait }
                if time >= warrant.expiresAt { return .refuse(CommandError(.expired)) }
                if ServerCommand.Warrant.isAhead(warrant.counter, of: time) {
                    return .refuse(CommandError(.counterAhead))
                }
            }
            if let error = error(request, rules, sync.url) ?? error(request, while: wish) {
                return .refuse(error)
            }
            return .run(request)
        }
    }

    /// What the configuration files say against it.
    private static func error(
        _ request: ServerCommand.Request, _ rules: Settings.Commands, _ url: String
    ) -> CommandError? {
        guard rules.allow.contains(request.name) else { return CommandError(.notAllowed) }
        switch request {
        case .setConfig(let settings): return error(Array(settings.keys), rules)
        case .unsetConfig(let names): return error(names, rules)
        case .uploadLog(let target?):
            guard Settings.areSamePlace(target, url) else {
                return CommandError(
                    .invalidArguments, "url must have the scheme, host and port that data go to")
            }
            return nil
        case .start, .stop, .addGeofences, .removeGeofences, .removeAllGeofences, .setMotion, .sync, .locate,
            .uploadLog(nil):
            return nil
        }
    }

    private static func error(_ names: [String], _ rules: Settings.Commands) -> CommandError? {
        for name in names.sorted() {
            guard Key.named(name) != nil else { return CommandError(.unknownSetting, name) }
            guard rules.mayChange(name) else { return CommandError(.settingNotAllowed, name) }
        }
        return nil
    }

    /// What a person has said against it.
    private static func error(_ request: ServerCommand.Request, while wish: Wish?) -> CommandError? {
        Wish.allows(request.kind, while: wish) ? nil : CommandError(.stoppedByPerson)
    }
}

extension ServerCommand.Request {
    /// What it could tell of a vehicle that a person has stopped.
    package var kind: Wish.ServerRequest {
        switch self {
        case .start: .start
        case .locate: .locate
        case .addGeofences: .addGeofences
        // To take a schedule back, or to move it to another time zone, may open a window as well.
        case .setConfig(let settings):
            settings.keys.contains(where: Key.decidesWhenToTrack) ? .setSchedule : .harmless
        case .unsetConfig(let names):
            names.contains(where: Key.decidesWhenToTrack) ? .setSchedule : .harmless
        case .stop, .removeGeofences, .removeAllGeofences, .setMotion, .sync, .uploadLog: .harmless
        }
    }
}
