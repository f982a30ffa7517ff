extension Key {
    static let year = 31_536_000.0

    /// Every setting, in the order of the manual. Its parts are made where they are asked for: to keep them as well would cost
    /// every daemon twice the memory.
    package static let all: [Key] =
        gpsd + tracking + vehicle + store + sync + formats + commands + auth + others

    private static var others: [Key] {
        [
            .choice(
                "log.level", \.logLevel,
                "The least severe lines that are logged; debug shows each stage of each request, and no position."
            ),
            .choice(
                "display.units", \.units,
                "Units in which beekonctl shows lengths and speeds; files and uploads have metres."
            ).tunable,
            .open(
                "extras", \.extras, isSecret: false, Rules.extra,
                "Texts sent with every batch: at most 64, names up to 100 bytes, values up to 1024."
            ).tunable,
        ]
    }

    private static var gpsd: [Key] {
        [
            .text("gpsd.host", \.gpsd.host, Rules.host, "Host that gpsd runs on."),
            .integer("gpsd.port", \.gpsd.port, 1...65535, nil, "TCP port of gpsd."),
            .text(
                "gpsd.device", \.gpsd.device, Rules.device,
                "The one receiver to use; \"\": whichever has a fix."),
            .flag("gpsd.replay", \.gpsd.replay, "The source is a recording, so that old times are right."),
        ]
    }

    private static var tracking: [Key] {
        [
            .flag("tracking.autostart", \.tracking.autostart, "Start tracking on the very first run.")
                .tunable,
            .list(
                "tracking.schedule", \.tracking.schedule, limit: 64, Rules.window,
                "When to track, such as [\"mon-fri 07:00-18:30\", \"sat 22:00-06:00\"]; [] is no schedule."
            ).tunable,
            .text(
                "tracking.time_zone", \.tracking.timeZone, Rules.timeZone,
                "Time zone of the schedule, such as \"Europe/Berlin\"; \"\": the system's."
            ).tunable,
            .number(
                "tracking.interval_seconds", \.tracking.intervalSeconds, 0...year, "seconds",
                "Time between admitted fixes; 0 switches this side of the gate off."
            ).tunable,
            .number(
                "tracking.distance_meters", \.tracking.distanceMeters, 0...1_000_000, "metres",
                "Distance between admitted fixes; 0 switches this side of the gate off."
            ).tunable,
            .number(
                "tracking.angle_degrees", \.tracking.angleDegrees, 0...180, "degrees",
                "Change of bearing that admits a fix as well; 0 is off."
            ).tunable,
            .choice(
                "tracking.stationary_mode", \.tracking.stationaryMode,
                "What is admitted while the vehicle stands."
            ).tunable,
            .number(
                "tracking.stationary_radius_meters", \.tracking.stationaryRadiusMeters, 5...1000,
                clamped: true,
                "metres", "How far around the parking spot still counts as standing."
            ).tunable,
            .number(
                "tracking.stationary_after_seconds", \.tracking.stationaryAfterSeconds, 1...year, "seconds",
                "How long it must stand to be stationary."
            ).tunable,
            .number(
                "tracking.check_in_interval_seconds", \.tracking.checkInIntervalSeconds, 1...year, "seconds",
                "Time between check-ins in the mode pause_with_check_ins."
            ).tunable,
            .flag(
                "tracking.detect_activity", \.tracking.detectActivity,
                "Tell walking from cycling from driving."
            ).tunable,
            .number(
                "tracking.low_accuracy_meters", \.tracking.lowAccuracyMeters, 0...1_000_000, "metres",
                "Accuracy beyond which a fix is marked low_accuracy."
            ).tunable,
            .number(
                "tracking.implausible_speed_mps", \.tracking.implausibleSpeedMps, 1...1_000_000,
                "metres per second", "Speed between fixes beyond which one is marked implausible_speed."
            ).tunable,
        ]
    }

    private static var store: [Key] {
        [
            .number(
                "store.retention_days", \.store.retentionDays, 0.01...36_500, "days",
                "Age at which rows are deleted, unless they still have to be uploaded, or times have just jumped."
            ),
            .integer(
                "store.max_rows", \.store.maxRows, 1...100_000_000, "rows", "Count above which the oldest go."
            ),
            .choice("store.durability", \.store.durability, "full: a power cut loses nothing stored."),
            .flag("store.keep_uploaded", \.store.keepUploaded, "Keep rows after their upload."),
            .number(
                "store.unsent_days", \.store.unsentDays, 0...36_500, "days",
                "Age at which rows are deleted although nobody has received them; 0 is never, else 0.01 at least."
            ),
        ]
    }
}
