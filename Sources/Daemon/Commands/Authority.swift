internal import DaemonConfiguration

/// Says who may ask for what. Pure.
enum Authority {
    enum Permission: Equatable {
        case granted
        case denied
    }

    /// Whether such a caller may call methods for these.
    static func decide(_ audience: Method.Audience, for origin: Command.Origin) -> Permission {
        switch origin {
        case .root, .daemonUser, .admin: .granted
        case .member: audience == .members ? .granted : .denied
        case .signal, .server: .denied
        }
    }

    /// Whether such a caller may give a command with these values. For its method a client has been asked before.
    static func decide(_ command: Command, for origin: Command.Origin) -> Permission {
        switch origin {
        case .root, .daemonUser, .admin: .granted
        case .member: needsAdmin(command) ? .denied : .granted
        case .server: isForServers(command) && !needsAdmin(command) ? .granted : .denied
        case .signal: if case .reload = command { .granted } else { .denied }
        }
    }

    /// Settings have rights of their own. An unknown name is reported as unknown, whoever asks.
    private static func needsAdmin(_ command: Command) -> Bool {
        if case .configure(let offers) = command {
            return offers.keys.contains { Key.named($0)?.key.needsAdmin ?? false }
        }
        if case .resetConfig(let names) = command { return names.contains { Key.needsAdmin($0) } }
        return false
    }

    /// What the server may ask for, as far as the configuration files allow it. It has the rights of a member of the group
    /// of users, and no use for the rest: what it cannot ask for, nobody who takes its place can.
    private static func isForServers(_ command: Command) -> Bool {
        switch command {
        case .start, .stop, .configure, .resetConfig, .addGeofences, .removeGeofences, .removeAllGeofences,
            .setMotion, .sync, .locate:
            true
        case .delete, .requeueRejected, .purgeRejected, .resend, .backfill, .forgetDestination, .rebatch,
            .syncEach, .seedAuth, .setExtras, .setOdometer, .listGeofences, .setIgnition, .resetServerConfig,
            .reload:
            false
        }
    }

    /// Whether a change may send the secrets of the configuration files elsewhere: only for those who can read them.
    static func decideExposingSecrets(for origin: Command.Origin) -> Permission {
        switch origin {
        case .root, .daemonUser: .granted
        case .admin, .member, .signal, .server: .denied
        }
    }

    /// Whether a subscriber may see what requests carry.
    static func decideSeeingRequests(for origin: Command.Origin) -> Permission {
        isAdmin(origin) ? .granted : .denied
    }

    private static func isAdmin(_ origin: Command.Origin) -> Bool {
        switch origin {
        case .root, .daemonUser, .admin: true
        case .member, .signal, .server: false
        }
    }
}

extension Command.Origin {
    /// A client of the control socket.
    ///
    /// - Parameters:
    ///   - daemonUser: the user that the daemon runs as.
    ///   - adminGroup: the group of administrators; nil when there is none here.
    init(uid: UInt32, groups: [UInt32], daemonUser: UInt32, adminGroup: UInt32?) {
        self =
            if uid == 0 {
                .root
            } else if uid == daemonUser {
                .daemonUser
            } else if let adminGroup, groups.contains(adminGroup) {
                .admin
            } else {
                .member
            }
    }
}
