internal import DaemonConfiguration

/// Says who may ask for what. Pure.
enum Authority {
    enum Permission: Equatable {
        case granted
        case denied
    }

    static func decide(_ command: Command, for origin: Command.Origin) -> Permission {
        guard decide(command.kind, for: origin) == .granted else { return .denied }
        let needsAdmin =
            switch command {
            // An unknown name is reported as unknown, whoever asks.
            case .configure(let offers): offers.keys.contains { Key.named($0)?.key.needsAdmin ?? false }
            case .resetConfig(let names): names.contains { Key.needsAdmin($0) }
            case .start, .stop, .delete, .requeueRejected, .purgeRejected, .resend, .backfill,
                .forgetDestination, .rebatch, .sync, .syncEach,
                .seedAuth, .setExtras, .setOdometer, .addGeofences, .removeGeofences, .removeAllGeofences,
                .listGeofences, .locate, .setMotion, .setIgnition, .resetServerConfig, .reload:
                false
            }
        return needsAdmin && !isAdmin(origin) ? .denied : .granted
    }

    /// Whether such a command can be permitted at all; settings have rights of their own.
    static func decide(_ kind: Command.Kind, for origin: Command.Origin) -> Permission {
        if origin == .signal { return kind == .reload ? .granted : .denied }
        if origin == .server, !serverKinds.contains(kind) { return .denied }
        switch kind {
        case .delete, .purgeRejected, .resend, .backfill, .forgetDestination, .rebatch, .seedAuth,
            .setOdometer:
            return isAdmin(origin) ? .granted : .denied
        case .start, .stop, .requeueRejected, .sync, .setExtras, .addGeofences, .removeGeofences,
            .removeAllGeofences, .listGeofences, .locate, .setMotion, .setIgnition, .configure, .resetConfig,
            .resetServerConfig, .reload:
            return .granted
        }
    }

    /// What the server may ask for, as far as the configuration files allow it. It has the rights of a member of the group
    /// of users, and no use for the rest: what it cannot ask for, nobody who takes its place can.
    private static let serverKinds: Set<Command.Kind> = [
        .start, .stop, .configure, .resetConfig, .addGeofences, .removeGeofences, .removeAllGeofences,
        .setMotion,
        .sync, .locate,
    ]

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
