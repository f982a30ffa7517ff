extension Key {
    private static let year = 31_536_000.0

    /// Every setting, in the order of the manual.
    package static let all: [Key] =
        gpsd + tracking + store + sync + auth + [
            .open(
                "extras", \.extras, isSecret: false, Rules.extra,
                "Texts sent with every batch: at most 64, names up to 100 bytes, values up to 1024."
            ).tunable
        ]

    private static let gpsd: [Key] = [
        .text("gpsd.host", \.gpsd.host, Rules.host, "Host that gpsd runs on."),
        .integer("gpsd.port", \.gpsd.port, 1...65535, nil, "TCP port of gpsd."),
        .text(
            "gpsd.device", \.gpsd.device, Rules.device, "The one receiver to use; \"\": whichever has a fix."),
        .flag("gpsd.replay", \.gpsd.replay, "The source is a recording, so that old times are right."),
    ]

    private static let tracking: [Key] = [
        .flag("tracking.autostart", \.tracking.autostart, "Start tracking on the very first run.").tunable,
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
            "tracking.stationary_radius_meters", \.tracking.stationaryRadiusMeters, 5...1000, clamped: true,
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
            "tracking.detect_activity", \.tracking.detectActivity, "Tell walking from cycling from driving."
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

    private static let store: [Key] = [
        .number(
            "store.retention_days", \.store.retentionDays, 0.01...36_500, "days",
            "Age at which rows are deleted, unless they still have to be uploaded, or times have just jumped."
        ),
        .integer(
            "store.max_rows", \.store.maxRows, 1...100_000_000, "rows", "Count above which the oldest go."),
        .choice("store.durability", \.store.durability, "full: a power cut loses nothing stored."),
        .flag("store.keep_uploaded", \.store.keepUploaded, "Keep rows after their upload."),
    ]

    private static let sync: [Key] = [
        .text(
            "sync.url", \.sync.url, Rules.uploadURL, "Where batches are posted; \"\": nothing is ever sent.",
            isAddress: true
        ).leading,
        .number(
            "sync.interval_seconds", \.sync.intervalSeconds, 60...year, clamped: true, "seconds",
            "Time between scheduled uploads."
        ).tunable,
        .integer(
            "sync.batch_size", \.sync.batchSize, 1...1000, clamped: true, "locations", "Most in one request."
        ).tunable,
        .integer(
            "sync.sync_threshold", \.sync.syncThreshold, 0...100_000_000, "locations",
            "Pending count that starts an upload at once; 0 is off."
        ).tunable,
        .number(
            "sync.timeout_seconds", \.sync.timeoutSeconds, 1...3600, "seconds", "Time one request may take."),
        .choice("sync.on_reject", \.sync.onReject, "What happens to a batch the backend calls invalid."),
        .flag(
            "sync.require_ack", \.sync.requireAck,
            "Believe a 2xx only if its body is a JSON object with the batch_id."),
        .flag(
            "sync.allow_insecure_http", \.sync.allowInsecureHTTP,
            "Allow http, which others can read and change in transit, to other hosts."
        ).leading,
        .file("sync.ca_file", \.sync.caFile, "PEM file of the authorities to trust.").leading,
        .file("sync.client_certificate", \.sync.clientCertificate, "PEM file of the client certificate."),
        .file("sync.client_key", \.sync.clientKey, "PEM file of the certificate's key."),
        .optionalText(
            "sync.proxy", \.sync.proxy, Rules.proxyURL, "Proxy; the environment is not asked.",
            isAddress: true
        ).leading,
        .text("sync.platform", \.sync.platform, Rules.platform, "What the upload calls this platform."),
        .open(
            "sync.headers", \.sync.headers, isSecret: true, Rules.header, "Headers sent with every upload."),
    ]

    private static let auth: [Key] = [
        .secret("sync.auth.access_token", \.auth.accessToken, "Seed of the access token."),
        .secret("sync.auth.refresh_token", \.auth.refreshToken, "Seed of the refresh token."),
        .time(
            "sync.auth.expires_at", \.auth.expiresAt, 0...253_402_300_799, "When the access token expires."),
        .integer(
            "sync.auth.seed_epoch", \.auth.seedEpoch, 0...9_007_199_254_740_991, nil,
            "Raise it to have the same seed adopted again."),
        .choice("sync.auth.strategy", \.auth.strategy, "bearer: \"Bearer <token>\"; raw: the token alone."),
        .optionalText(
            "sync.auth.refresh_url", \.auth.refreshURL, Rules.uploadURL, "Where tokens are refreshed.",
            isAddress: true
        ).leading,
        .open(
            "sync.auth.refresh_payload", \.auth.refreshPayload, isSecret: true, Rules.payload,
            "Fields of the refresh request; {accessToken} and {refreshToken} stand for the tokens."),
        .open(
            "sync.auth.refresh_headers", \.auth.refreshHeaders, isSecret: true, Rules.header,
            "Headers of the refresh request; default Authorization = \"Bearer {accessToken}\"."),
        .choice(
            "sync.auth.refresh_body_format", \.auth.refreshBodyFormat, "Encoding of the refresh request."),
        .optionalText(
            "sync.auth.response_mapping.access_token", \.auth.responseMapping.accessToken, Rules.path,
            "Dot path of the access token in the answer."),
        .optionalText(
            "sync.auth.response_mapping.refresh_token", \.auth.responseMapping.refreshToken, Rules.path,
            "Dot path of the refresh token in the answer."),
        .optionalText(
            "sync.auth.response_mapping.expires_at", \.auth.responseMapping.expiresAt, Rules.path,
            "Dot path of the time of expiry in the answer."),
        .optionalText(
            "sync.auth.response_mapping.expires_in", \.auth.responseMapping.expiresIn, Rules.path,
            "Dot path of the seconds until expiry in the answer."),
        .number(
            "sync.auth.skew_margin_seconds", \.auth.skewMarginSeconds, 0...year, "seconds",
            "How long before its expiry a token is refreshed."),
    ]
}
