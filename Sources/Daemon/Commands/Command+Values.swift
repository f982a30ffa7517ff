internal import Base
internal import DaemonConfiguration
internal import Tracking
internal import Upload

// The values of commands. Each can only be made when it is right; the names in the errors are the control interface's.

extension Command {
    /// The complete set of extras that are to be in force.
    struct Extras: Sendable {
        let values: [String: String]

        init(_ values: [String: String]) throws(CommandFailure) {
            if let (name, reason) = Settings.complaint(aboutExtras: values) {
                throw CommandFailure(kind: .setting(key: "extras." + name), reason: reason)
            }
            self.values = values
        }
    }

    /// What the odometer is to show.
    struct Mileage: Sendable {
        private static let range = 0...10_000_000_000

        let metres: Double

        /// - Parameter metres: since the vehicle was new, say.
        init(_ metres: Int) throws(CommandFailure) {
            guard Self.range.contains(metres) else {
                throw CommandFailure(kind: .parameter("odometer_meters"))
            }
            self.metres = Double(metres)
        }
    }

    /// New tokens.
    struct Seed: Sendable {
        /// The last second of the year 9999.
        private static let lastSecond = 253_402_300_799

        let tokens: Tokens

        /// - Parameter expiresAt: Unix time in seconds.
        init(access: String?, refresh: String?, expiresAt: Int?) throws(CommandFailure) {
            for (name, token) in [("access_token", access), ("refresh_token", refresh)] {
                if let token, !Tokens.isToken(token) { throw CommandFailure(kind: .parameter(name)) }
            }
            if let expiresAt, !(0...Self.lastSecond).contains(expiresAt) {
                throw CommandFailure(kind: .parameter("expires_at"))
            }
            tokens = Tokens(access: access, refresh: refresh, expiresAt: expiresAt.map { Int64($0) })
            guard !tokens.isEmpty else { throw CommandFailure(kind: .parameter("access_token")) }
        }

        /// Whether the configuration has a use for them.
        ///
        /// - Parameter sharesMain: its tokens are those of `main`.
        func check(
            against sync: Settings.Sync?, of name: DestinationName, sharesMain: Bool = false
        ) throws(CommandFailure) {
            let table = (name == .main ? "sync" : "destination.\(name)") + ".auth"
            if sharesMain {
                throw CommandFailure(
                    kind: .setting(key: table), reason: "its tokens are those of main; give them to main")
            }
            guard let auth = sync?.auth else {
                throw CommandFailure(
                    kind: .setting(key: table),
                    reason: "there is no table [\(table)] to use a token with; write one first")
            }
            guard tokens.access != nil || auth.refreshURL != nil else {
                throw CommandFailure(
                    kind: .setting(key: table + ".refresh_url"),
                    reason: "without it a refresh token alone is of no use")
            }
        }
    }

    /// What somebody says the vehicle does.
    struct SetMotion: Sendable {
        let motion: MotionState

        /// - Parameter motion: `moving` or `stationary`.
        init(_ motion: MotionState) throws(CommandFailure) {
            guard motion != .unknown else { throw CommandFailure(kind: .parameter("motion")) }
            self.motion = motion
        }

        /// - Parameter text: the same as the control interface has it.
        init(checking text: String) throws(CommandFailure) {
            guard let motion = MotionState(rawValue: text) else {
                throw CommandFailure(kind: .parameter("motion"))
            }
            try self.init(motion)
        }
    }

    /// A single fix is wanted.
    struct FixRequest: Sendable {
        let timeout: Double
        let maxAge: Double
        let accuracy: Double?

        /// - Parameters:
        ///   - timeout: seconds; nil: as long as is usual.
        ///   - maxAge: seconds; nil: only a new fix will do.
        ///   - accuracy: metres; nil: any.
        init(timeout: Double?, maxAge: Double?, accuracy: Double?) throws(CommandFailure) {
            self.timeout = timeout ?? OneShots.usualTimeout
            self.maxAge = maxAge ?? 0
            self.accuracy = accuracy
            guard OneShots.timeoutRange.contains(self.timeout) else {
                throw CommandFailure(kind: .parameter("timeout_seconds"))
            }
            guard OneShots.maxAgeRange.contains(self.maxAge) else {
                throw CommandFailure(kind: .parameter("max_age_seconds"))
            }
            if let accuracy, !(accuracy > 0) { throw CommandFailure(kind: .parameter("accuracy_meters")) }
        }
    }
}

extension Timestamp {
    /// - Parameter text: ISO 8601.
    init(checking text: String) throws(CommandFailure) {
        guard let time = Timestamp(iso8601: text) else { throw CommandFailure(kind: .time(text)) }
        self = time
    }
}

extension DestinationName {
    /// - Parameter text: nil: `main`.
    init(checking text: String?) throws(CommandFailure) {
        guard let text else {
            self = .main
            return
        }
        guard let name = DestinationName(text) else { throw CommandFailure(kind: .parameter("destination")) }
        self = name
    }
}
