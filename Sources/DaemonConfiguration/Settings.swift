/// Everything an operator can decide, complete and within its ranges once a ``Loader`` has made it.
///
/// The defaults are written here, once; names, units and ranges are in ``Key/all``.
package struct Settings: Sendable, Equatable {
    /// Where fixes come from.
    package var gpsd = GPSD()
    /// Which fixes become locations.
    package var tracking = Tracking()
    /// What the vehicle itself says, and what follows from it.
    package var vehicle = Vehicle()
    /// What is kept, for how long, and how safely.
    package var store = Store()
    /// Where locations go first, the destination `main`; nil without `sync.url`.
    package var sync: Sync?
    /// The tables `[destination.NAME]`, sorted by name; ``sync`` is not among them.
    package var destinations: [Destination] = []
    /// A `sync.url` was set at run time and is not in force: nothing is sent, and stored rows wait for it. Without
    /// this they would be deleted for their age, as if no upload were wanted.
    package internal(set) var awaitsSync = false
    /// What was set at run time is lost: a higher cap of rows may have been part of it, so no row that is stored now is
    /// deleted for exceeding it.
    package internal(set) var holdsRows = false
    /// Something that a server has set is in force.
    package internal(set) var hasServersSettings = false
    /// The least severe lines that are logged.
    package var logLevel = LogLevel.info
    /// How lengths and speeds are shown to people.
    package var units = Units.metric
    /// Texts sent along with every batch: at most 64, keys ≤ 100 bytes, values ≤ 1024 bytes.
    package var extras: [String: String] = [:]

    /// What is wrong with extras that are set while running, by the rules of `[extras]`: the name and why.
    package static func complaint(aboutExtras extras: [String: String]) -> (name: String, reason: String)? {
        for (name, value) in extras.sorted(by: { $0.key < $1.key }) {
            if let reason = Rules.extra(name, value) { return (name.escaped, reason) }
        }
        guard extras.count > SettingsBuilder.maxEntries else { return nil }
        return ("*", "at most \(SettingsBuilder.maxEntries) are allowed, and these are \(extras.count)")
    }

    /// The defaults: local only, nothing is sent anywhere.
    package init() {}

    package struct GPSD: Sendable, Equatable {
        /// Name or address of the host gpsd runs on.
        package var host = "127.0.0.1"
        /// TCP port, 1…65535.
        package var port: UInt16 = 2947
        /// Path of the one receiver to use, as gpsd names it; empty: whichever has a fix.
        package var device = ""
        /// The source is a recording: no rollover correction, no refusal of odd times, no pruning by age.
        package var replay = false
    }

    /// The gate, motion and quality.
    package struct Tracking: Sendable, Equatable {
        /// Start tracking on the very first run.
        package var autostart = false
        /// Windows such as `mon-fri 07:00-18:30` within which to track; empty: whoever says so decides alone.
        package var schedule: [String] = []
        /// The zone of the schedule's times, as in `/usr/share/zoneinfo`; empty: the system's.
        package var timeZone = ""
        /// Seconds of fix time between admitted fixes; 0 switches this side of the gate off.
        package var intervalSeconds = 30.0
        /// Metres between admitted fixes; 0 switches this side of the gate off.
        package var distanceMeters = 100.0
        /// Change of bearing, in degrees, that admits a fix as well; 0 is off.
        package var angleDegrees = 0.0
        package var stationaryMode = StationaryMode.pause
        /// Metres around the parking spot that still count as standing; 5…1000.
        package var stationaryRadiusMeters = 5.0
        /// Seconds of standing that make it stationary.
        package var stationaryAfterSeconds = 120.0
        /// Seconds between check-ins in `pause_with_check_ins`.
        package var checkInIntervalSeconds = 900.0
        /// Name what the speeds look like: walking, cycling, automotive.
        package var detectActivity = false
        /// Metres of accuracy beyond which a fix is marked `low_accuracy`.
        package var lowAccuracyMeters = 100.0
        /// Metres per second between fixes beyond which a fix is marked `implausible_speed`.
        package var implausibleSpeedMps = 100.0
    }

    /// What is admitted while the vehicle stands.
    package enum StationaryMode: String, Sendable, CaseIterable {
        /// Nothing is stored.
        case pause
        /// One fix every `check_in_interval_seconds`.
        case pauseWithCheckIns = "pause_with_check_ins"
        /// Fixes that the gate admits are stored.
        case keepTracking = "keep_tracking"
    }

    package struct Store: Sendable, Equatable {
        /// Days after which rows go, unless they still have to be uploaded.
        package var retentionDays = 7.0
        /// Rows above which the oldest go.
        package var maxRows = 100_000
        package var durability = Durability.full
        /// Keep uploaded rows under the rules above, instead of deleting them when they are acknowledged.
        package var keepUploaded = false
        /// Days after which rows go although nobody has received them; 0: never.
        package var unsentDays = 0.0
    }

    /// How severe a line must be to be logged, from the most severe down.
    package enum LogLevel: String, Sendable, CaseIterable {
        /// What keeps something from working.
        case error
        /// What may soon.
        case warning
        /// What an operator may want to know.
        case notice
        /// Lines of `notice`, and what is as it should be.
        case info
        /// Lines of `info`, and each stage of each request.
        case debug
    }

    /// For people's eyes only, by beekonctl: the daemon itself, what it sends and all files have metres.
    package enum Units: String, Sendable, CaseIterable {
        /// km, m and km/h.
        case metric
        /// Miles, feet and mph.
        case imperial
        /// Nautical miles, metres and knots.
        case nautical
    }

    /// What a power cut may cost.
    package enum Durability: String, Sendable, CaseIterable {
        /// Nothing that was stored.
        case full
        /// The newest commits; the database stays whole.
        case normal
    }
}
