extension Settings {
    /// OwnTracks JSON, one row a message.
    package struct OwnTracks: DestinationFormat {
        package static let traits = FormatTraits(
            isOneRow: true, isForeign: true, namesBatch: false, needsDeviceID: true, geofenceEvents: .always,
            vehicleEvents: .never, hasOdometer: true, battery: .always, heartbeat: .position,
            takesEmptyBatch: false)

        /// DEVICE of the topic `owntracks/USER/DEVICE`.
        package var deviceID: String
        /// USER of the topic; nil: `beekon`. With a ``password`` also for the login.
        package var username: Secret?
        /// For HTTP's Basic scheme or for MQTT's login. Never without a ``username``.
        package var password: Secret?
        /// nil: over HTTP.
        package var mqtt: MQTT?

        package var vehicle: String? { deviceID }
        package var identity: String { " owntracks" + (username.map { " \($0.text)" } ?? "") }
        package var secretTexts: [String] { [username, password].compactMap { $0?.text } }
    }

    /// What only a broker can be told.
    package struct MQTT: Sendable, Equatable {
        /// Believe a broker that nobody is subscribed at (PUBACK 16).
        package var acceptUnsubscribed = false
        /// Stay connected while nothing is to be sent.
        package var keepConnection = false
        /// Announce the vehicle to Home Assistant by MQTT discovery. Never without ``keepConnection``.
        package var homeAssistant = false
        package var version = MQTTVersion.auto

        package init() {}
    }

    /// Which version of MQTT is spoken, as it is written there.
    package enum MQTTVersion: String, Sendable, CaseIterable {
        /// 5, and 3.1.1 where the broker cannot.
        case auto
        /// MQTT 5 alone: in 3.1.1 what an access list denies is acknowledged.
        case five = "5"
        /// MQTT 3.1.1 alone, from the first connection on.
        case old = "3.1.1"
    }
}

extension Settings.Sync {
    /// What the broker is told; nil where the url names none.
    package var mqtt: Settings.MQTT? {
        if case .owntracks(let own) = format { own.mqtt } else { nil }
    }
}
