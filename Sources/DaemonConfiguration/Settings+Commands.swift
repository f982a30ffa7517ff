extension Settings {
    /// What the server of a destination may ask of this vehicle, in its answers: the table `commands` of that destination.
    package struct Commands: Sendable, Equatable {
        /// Commands that are carried out; any other is refused.
        package var allow: Set<Name> = []
        /// Names of the settings that `set_config` and `unset_config` may change; the name of a table of texts (`extras`)
        /// stands for all that is in it.
        package var settings: [String] = []
        /// Commands in one answer at most, 1…64.
        package var max = 16
        /// Not empty: commands count only if one of these keys has signed them.
        package var verifyKeys: [VerifyKey] = []

        package init() {}

        /// What a server may ask for. The raw values are those of the wire, of `allow` and of the journal.
        package enum Name: String, Sendable, CaseIterable {
            case start, stop
            case setConfig = "set_config"
            case unsetConfig = "unset_config"
            case addGeofences = "add_geofences"
            case removeGeofences = "remove_geofences"
            /// A name of its own, so that a list that has come out empty removes nothing.
            case removeAllGeofences = "remove_all_geofences"
            case setMotion = "set_motion"
            case sync, locate
            case uploadLog = "upload_log"
        }

        /// Whether `settings` names a setting, or the table that it stands in.
        package func mayChange(_ name: String) -> Bool {
            if settings.contains(name) { return true }
            guard let key = Key.named(name)?.key, key.isOpen else { return false }
            return settings.contains(key.name)
        }
    }

    /// The public half of a pair of Ed25519 keys (RFC 8032).
    package struct VerifyKey: Sendable, Equatable {
        /// The 32 bytes of the key.
        package let bytes: [UInt8]

        /// - Returns: nil unless there are 32 bytes.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }
    }
}
