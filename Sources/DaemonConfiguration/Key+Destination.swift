// What every destination can be told. Written once, for `[sync]`; `placed(in:)` makes the keys of another of them.

extension Key {
    static var sync: [Key] {
        [
            .text(
                "sync.url", \.main.sync.url, Rules.destinationURL,
                "Where batches are posted, or with format owntracks published; \"\": nothing is sent there.",
                isAddress: true
            ).leading,
            .choice(
                "sync.format", \.main.format.name,
                "How locations become requests."),
            .choice(
                "sync.deliver", \.main.sync.deliver,
                "all: every location, however late; latest: the newest one at each trigger, and nothing is queued."
            ),
            .number(
                "sync.interval_seconds", \.main.sync.intervalSeconds, 60...year, clamped: true, "seconds",
                "Time between scheduled uploads; with deliver = \"latest\" from 5."
            ).tunable,
            .number(
                "sync.heartbeat_seconds", \.main.sync.heartbeatSeconds, 0...86_400, "seconds",
                "Time after the latest request at which an envelope without locations says how the vehicle is; 0 is off,\n"
                    + "else 60 at least."
            ).only(.beekon, .owntracks),
            .integer(
                "sync.batch_size", \.main.sync.batchSize, 1...1000, clamped: true, "locations",
                "Most in one request."
            ).tunable.only(.beekon, .template, .overland),
            .choice(
                "sync.order", \.main.format.order,
                "Which locations the next batch holds; the cap of rows takes the oldest, which newest leaves to it."
            ).only(.beekon, .template, .overland),
            .integer(
                "sync.sync_threshold", \.main.sync.syncThreshold, 0...100_000_000, "locations",
                "Pending count that starts an upload at once; 0 is off."
            ).tunable,
            .choice(
                "sync.mode", \.main.sync.triggers.mode,
                "manual: only beekonctl sync starts an upload."),
            .flag(
                "sync.on_motion_change", \.main.sync.triggers.onMotionChange,
                "Parking and setting off start an upload."),
            .flag(
                "sync.geofence_retry", \.main.sync.triggers.geofenceRetry,
                "A geofence event during back-off makes an early attempt, every 30 s at most."),
            .choice(
                "sync.metered", \.main.isMetered,
                "avoid: automatic uploads wait while the route is a metered one."),
            .list(
                "sync.metered_interfaces", \.main.metered.interfaces, limit: 16, Rules.interface,
                "Interfaces that count as metered, besides those that NetworkManager calls so; * and ? are wildcards."
            ),
            .number(
                "sync.metered_max_wait_seconds", \.main.metered.maxWaitSeconds, 0...year, "seconds",
                "How long uploads wait for another route; 0 is as long as it takes."),
            .number(
                "sync.timeout_seconds", \.main.sync.timeoutSeconds, 1...3600, "seconds",
                "Time one request may take."),
            .choice(
                "sync.on_reject", \.main.sync.onReject,
                "What happens to a batch the backend calls invalid; keep, which tries it again, is the default of overland,\n"
                    + "owntracks and osmand, and for them alone."),
            .flag(
                "sync.require_ack", \.main.sync.requireAck,
                "Believe a 2xx only if its body is a JSON object with the batch_id."
            ).only(.beekon, .template),
            .optionalText(
                "sync.accept_member", \.main.sync.acceptMember, Rules.path,
                "Believe a 2xx only if this member of its JSON is accept_value: a dot path, a number is an index of an array.\n"
                    + "\"\": none is demanded; but of overland's answers those that are JSON must have result = \"ok\"."
            ).only(.beekon, .template, .overland),
            .list(
                "sync.accept_value", \.main.sync.acceptValues, limit: 16, Rules.acceptedValue,
                "What accept_member must be, a text or a list of them: a text by its content, a number, true, false and null\n"
                    + "as they are written."
            ).single.only(.beekon, .template, .overland),
            .flag(
                "sync.geofence_events", \.main.sync.geofenceEvents,
                "Send entries into geofences and exits from them."
            ).only(.beekon, .template, .owntracks),
            .flag(
                "sync.allow_insecure_http", \.main.sync.allowInsecureHTTP,
                "Allow http and mqtt, which others can read and change in transit, to other hosts."
            ).leading,
            .file("sync.ca_file", \.main.sync.caFile, "PEM file of the authorities to trust.").leading,
            .file(
                "sync.client_certificate", \.main.sync.clientCertificate,
                "PEM file of the client certificate."),
            .file("sync.client_key", \.main.sync.clientKey, "PEM file of the certificate's key."),
            .optionalText(
                "sync.proxy", \.main.sync.proxy, Rules.proxyURL, "Proxy; the environment is ignored.",
                .address
            ).leading,
            .text(
                "sync.platform", \.main.format.platform, Rules.platform,
                "What the upload calls this platform."
            )
            .only(.beekon),
            .open(
                "sync.headers", \.main.sync.headers, isSecret: true, Rules.uploadHeader,
                "Headers sent with every upload."),
        ]
    }

    /// What some formats have of their own.
    static var formats: [Key] {
        [
            .optionalText(
                "sync.device_id", \.main.format.deviceID, Rules.identifier,
                "Name by which the server knows this vehicle; owntracks and osmand need it, over "
                    + "MQTT without dots, which some brokers change in a topic."
            ).only(.template, .overland, .owntracks, .osmand),
            .secret(
                "sync.username", \.main.format.owntracks.username, Rules.identifier,
                "USER of the topic owntracks/USER/DEVICE, \"beekon\" without it; with a password also of the login."
            ).only(.owntracks),
            .secret("sync.password", \.main.format.owntracks.password, Rules.token, "Password of the login.")
                .only(.owntracks),
            .flag(
                "sync.accept_unsubscribed", \.main.format.mqtt.acceptUnsubscribed,
                "Over MQTT: a message that nobody subscribes to has been delivered."
            ).only(.owntracks),
            .flag(
                "sync.keep_connection", \.main.format.mqtt.keepConnection,
                "Over MQTT: stay connected while there is nothing to send."
            ).only(.owntracks),
            .flag(
                "sync.home_assistant", \.main.format.mqtt.homeAssistant,
                "Over MQTT: announce the vehicle to Home Assistant, with its sensors; needs keep_connection."
            ).only(.owntracks),
            .choice(
                "sync.mqtt_version", \.main.format.mqtt.version,
                "Over MQTT: auto is 5, and 3.1.1 where the broker cannot; 5 never falls back."
            ).only(.owntracks),
            .choice(
                "sync.speed_unit", \.main.format.speedUnit,
                "knots for Traccar, and PhoneTrack's /log/traccar; mps for PhoneTrack's /log/gpslogger."
            ).only(.osmand),
            .choice(
                "sync.unique_id", \.main.format.uniqueID,
                "What unique_id names: each location, as id does, or this device, as in the app Overland."
            ).only(.overland),
            .choice(
                "sync.method", \.main.format.template.method,
                "Method of the request; GET has one record, in the query."
            ).only(.template),
            .choice(
                "sync.body", \.main.format.template.body,
                "json; form: one record, whose members become parameters; text: lines of InfluxDB."
            ).only(.template),
            .text(
                "sync.root_property", \.main.format.template.rootProperty, Rules.rootProperty,
                "Name of the record, or of the array of records, in the body; \".\": it is the body.\n"
                    + "With batch_size 1 it is a record, else an array."
            ).only(.template),
            .parameters(
                "sync.params", \.main.format.params, Rules.parameter,
                "Fields beside the records, in the root object: at most 64."
            ).only(.beekon, .template),
            .choice("sync.extras_in", \.main.format.template.extrasIn, "Where the extras of a location go.")
                .only(
                    .template),
            .optionalText(
                "sync.location_template", \.main.format.template.location, Rules.locationTemplate,
                "Record of a location, in JSON with <%= tags %>, or a line with them; \"\" is the usual one of JSON."
            ).only(.template),
            .optionalText(
                "sync.geofence_template", \.main.format.template.geofence, Rules.geofenceTemplate,
                "Record of a geofence event, in JSON with <%= tags %>, or a line with them; \"\" is the usual one of JSON,\n"
                    + "and elsewhere there are no such records then."
            ).only(.template),
            .flag(
                "sync.compress", \.main.format.template.compress,
                "Send gzip.\nThe format beekon always does, others never."
            ).only(.template),
        ]
    }

    /// What a server may do is nobody's to decide over the socket.
    static let commands = commandRows.map { $0.fileOnly.only(.beekon, .template) }

    private static var commandRows: [Key] {
        [
            .flag(
                "sync.commands.enabled", \.main.commands.isEnabled,
                "Carry out the commands in the server's answers."),
            .list(
                "sync.commands.allow", \.main.commands.allow, limit: Settings.Commands.Name.allCases.count,
                Rules.serverCommand, "The commands that it may give, such as [\"start\", \"stop\"]."),
            .list(
                "sync.commands.settings", \.main.commands.named, limit: 64, Rules.serverSetting,
                "The settings that it may change, such as [\"tracking.interval_seconds\"]."),
            .integer(
                "sync.commands.max", \.main.commands.max, 1...64, "commands",
                "Most commands in one answer; with more, all of them are refused."),
            .list(
                "sync.commands.verify_keys", \.main.commands.keyFiles, limit: 4, Rules.verifyKey,
                "PEM files of Ed25519 keys, one of which must have signed what the server asks for."),
        ]
    }

    static var auth: [Key] {
        [
            .secret(
                "sync.auth.access_token", \.main.auth.values.accessToken, Rules.token,
                "Seed of the access token."
            ),
            .secret(
                "sync.auth.refresh_token", \.main.auth.values.refreshToken, Rules.token,
                "Seed of the refresh token."),
            .time(
                "sync.auth.expires_at", \.main.auth.values.expiresAt, 0...253_402_300_799,
                "When the access token expires."),
            .integer(
                "sync.auth.seed_epoch", \.main.auth.values.seedEpoch, 0...9_007_199_254_740_991, nil,
                "Raise it to have the same seed adopted again."),
            .choice(
                "sync.auth.strategy", \.main.auth.values.strategy,
                "bearer: \"Bearer <token>\"; raw: the token alone."),
            .optionalText(
                "sync.auth.refresh_url", \.main.auth.values.refreshURL, Rules.webURL,
                "Where tokens are refreshed.", .address
            ).leading,
            .open(
                "sync.auth.refresh_payload", \.main.auth.values.refreshPayload, isSecret: true, Rules.payload,
                "Fields of the refresh request; {accessToken} and {refreshToken} stand for the tokens."),
            .open(
                "sync.auth.refresh_headers", \.main.auth.values.refreshHeaders, isSecret: true, Rules.header,
                "Headers of the refresh request; default Authorization = \"Bearer {accessToken}\"."),
            .choice(
                "sync.auth.refresh_body_format", \.main.auth.values.refreshBodyFormat,
                "Encoding of the refresh request."),
            .optionalText(
                "sync.auth.response_mapping.access_token", \.main.auth.values.responseMapping.accessToken,
                Rules.path, "Dot path of the access token in the answer."),
            .optionalText(
                "sync.auth.response_mapping.refresh_token", \.main.auth.values.responseMapping.refreshToken,
                Rules.path, "Dot path of the refresh token in the answer."),
            .optionalText(
                "sync.auth.response_mapping.expires_at", \.main.auth.values.responseMapping.expiresAt,
                Rules.path, "Dot path of the time of expiry in the answer."),
            .optionalText(
                "sync.auth.response_mapping.expires_in", \.main.auth.values.responseMapping.expiresIn,
                Rules.path, "Dot path of the seconds until expiry in the answer."),
            .number(
                "sync.auth.skew_margin_seconds", \.main.auth.values.skewMarginSeconds, 0...year, "seconds",
                "How long before its expiry a token is refreshed."),
        ]
    }

    /// `auth = "main"`, for which `[sync]` has no use.
    static let sharedAuth: Key =
        .optionalText(
            "sync.auth", \.main.auth.sharedWith, Rules.sharedAuth,
            "\"main\": the tokens of [sync.auth], for the same scheme, host and port."
        ).fileOnly
}
