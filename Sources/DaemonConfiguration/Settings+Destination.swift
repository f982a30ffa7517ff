extension Settings {
    /// One place that locations go to: `[sync]`, or a table `[destination.NAME]`.
    package struct Destination: Sendable, Equatable {
        /// What `[sync]` is called.
        package static let main = "main"
        /// Tables `[destination.NAME]` at most.
        package static let limit = 7

        /// 1 to 32 of a–z, 0–9, - and _.
        package let name: String
        /// Settings in its table; the url is not empty.
        package let sync: Sync
        /// `auth = "main"`: the tokens are those of `[sync.auth]`, which ``main`` alone refreshes, for the same scheme, host
        /// and port. ``Sync/auth`` is nil then.
        package var sharesMainTokens = false

        /// What is wrong with a name for such a table; nil when nothing is.
        static func complaint(aboutName name: some StringProtocol) -> String? {
            if name == main {
                return "is what [sync] is called; choose another name, or write this in [sync]"
            }
            let isUsable = name.utf8.allSatisfy { byte in
                (97...122).contains(byte) || (48...57).contains(byte) || byte == 45 || byte == 95
            }
            guard isUsable, (1...32).contains(name.utf8.count) else {
                return "is not a name for a destination; use 1 to 32 of a-z, 0-9, - and _"
            }
            return nil
        }
    }

    /// Every destination there is, ``Destination/main`` first; empty: nothing is ever sent.
    package var allDestinations: [Destination] {
        (sync.map { [Destination(name: Destination.main, sync: $0)] } ?? []) + destinations
    }

    /// Something is to be uploaded somewhere.
    package var uploads: Bool { sync != nil || !destinations.isEmpty }

    /// A destination with its table; nil while it has no url, or is none.
    package func destination(_ name: String) -> Destination? {
        allDestinations.first { $0.name == name }
    }

    /// The table of a destination; nil while it has no url, or is none.
    package func sync(of name: String) -> Sync? {
        name == Destination.main ? sync : destinations.first { $0.name == name }?.sync
    }

    /// What a destination is owed.
    package enum Deliver: String, Sendable, CaseIterable {
        /// Every row that is stored while it is configured.
        case all
        /// The newest location at each trigger, and nothing that was missed.
        case latest
    }

    /// What starts an upload, besides the interval and the threshold.
    package struct Triggers: Sendable, Equatable {
        package var mode = Mode.auto
        /// Parking and setting off start an upload.
        package var onMotionChange = false
        /// A geofence event during back-off makes an early attempt.
        package var geofenceRetry = false
        /// nil: metered routes are as good as others.
        package var metered: Metered?

        package init() {}
    }

    /// Who starts uploads.
    package enum Mode: String, Sendable, CaseIterable {
        /// Every trigger.
        case auto
        /// `Sync` alone.
        case manual
    }

    /// How automatic uploads wait while the route is metered.
    package struct Metered: Sendable, Equatable {
        /// Names of interfaces that are, with `*` and `?` as in the shell; besides those NetworkManager calls so.
        package var interfaces = ["wwan*", "ppp*"]
        /// Seconds after which they wait no longer; 0: as long as it takes.
        package var maxWaitSeconds = 0.0

        package init() {}
    }
}
