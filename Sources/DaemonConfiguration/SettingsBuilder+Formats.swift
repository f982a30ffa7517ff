// What contradicts itself within a destination: its format, its triggers, its request, its login.

extension SettingsBuilder {
    /// Root fields of Beekon's envelope, those that commands and events use included: additions must leave them alone.
    private static let envelope: Set<String> = [
        "schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations",
        "geofence_events", "command_results", "events", "status",
    ]

    mutating func checkFormat(_ own: DestinationDraft, _ name: String) {
        let table = Key.table(of: name)
        let format = own.format.name
        for found in winners.values.sorted(by: { $0.slot < $1.slot }) where found.key.owner == name {
            guard let formats = found.key.formats, !formats.contains(format) else { continue }
            let names = Settings.Format.Name.allCases.filter(formats.contains).map(\.rawValue)
            addProblem(
                found.slot,
                "is a setting of \(names.count == 1 ? "format" : "the formats") \(names.joined(separator: ", ")), "
                    + "and \(table).format is \(format.rawValue); remove it")
        }
        let needsDevice =
            [.owntracks, .osmand].contains(format) && own.format.deviceID == nil
            && !isBroken(table + ".device_id")
        let blamed = isSet(table + ".device_id") ? ".device_id" : ".format"
        check([
            (
                needsDevice && !own.sync.url.isEmpty, table + blamed,
                "\(format.rawValue) needs \(table).device_id, what the server knows this vehicle by"
            ),
            (
                !format.isForeign && own.sync.onReject == .keep, table + ".on_reject",
                "\(format.rawValue) cannot keep what the backend calls invalid; use drop or isolate"
            ),
            (
                format.isOneRow && own.sync.onReject == .isolate, table + ".on_reject",
                "a request of \(format.rawValue) holds one row, so there is nothing to isolate it from; use keep or drop"
            ),
        ])
        guard format == .owntracks, !own.isMQTT, !own.sync.url.isEmpty else { return }
        for leaf in ["accept_unsubscribed", "keep_connection"] where isSet("\(table).\(leaf)") {
            addProblem(
                "\(table).\(leaf)",
                "is about MQTT, and \(table).url is none of mqtt:// or mqtts://; remove it")
        }
    }

    mutating func checkTriggers(_ own: DestinationDraft, _ table: String) {
        let sync = own.sync
        let (isManual, isLatest) = (sync.triggers.mode == .manual, sync.deliver == .latest)
        let manual =
            "starts uploads, and \(table).mode = \"manual\" leaves that to beekonctl sync; remove one of the two"
        let latest = "is about a queue, and \(table).deliver = \"latest\" has none; remove it"
        check([
            (isManual && sync.syncThreshold > 0, table + ".sync_threshold", manual),
            (isManual && sync.triggers.onMotionChange, table + ".on_motion_change", manual),
            (isManual && sync.triggers.geofenceRetry, table + ".geofence_retry", manual),
            (isManual && isLatest, table + ".deliver", manual),
            (
                isManual && own.isMetered == .avoid, table + ".metered",
                "delays automatic uploads, and with \(table).mode = \"manual\" there are none; remove one of the two"
            ),
            (isLatest && sync.syncThreshold > 0, table + ".sync_threshold", latest),
            (isLatest && own.format.order == .newest, table + ".order", latest),
            (isLatest && isSet(table + ".on_reject"), table + ".on_reject", latest),
        ])
    }

    mutating func checkRequest(_ own: DestinationDraft, _ table: String) {
        guard [.beekon, .template].contains(own.format.name) else { return }
        let root = own.format.template.rootProperty
        let isTemplate = own.format.name == .template
        for parameter in own.format.params {
            let slot = "\(table).params.\(parameter.name)"
            check([
                (
                    !isTemplate && Self.envelope.contains(parameter.name), slot,
                    "is the name of a field of the envelope; choose another"
                ),
                (
                    isTemplate && parameter.name == root, slot,
                    "is where the records are (\(table).root_property); choose another name for one of them"
                ),
                (
                    isTemplate && root == ".", slot,
                    "has no place where the records are the body (\(table).root_property = \".\"); remove one of the two"
                ),
            ])
        }
        check([
            (
                isTemplate && root == "." && own.format.template.extrasIn == .root, table + ".extras_in",
                "there is no root where the records are the body (\(table).root_property = \".\"); use record or none"
            )
        ])
    }

    mutating func checkCredentials(_ own: DestinationDraft, _ table: String) {
        let hasAuth = own.auth.isTable || own.auth.sharedWith != nil
        let password = table + ".password"
        let hasPassword = own.format.name == .owntracks && own.format.owntracks.password != nil
        if own.isMQTT {
            let slots = winners.values.filter { found in
                found.slot.hasPrefix(table + ".auth") || found.slot.hasPrefix(table + ".headers.")
            }
            if let first = slots.map(\.slot).min() {
                addProblem(
                    first,
                    "MQTT has neither headers nor bearer tokens; use \(table).username and \(table).password")
            }
        }
        check([
            (
                hasPassword && own.format.owntracks.username == nil, password,
                "a password needs a name; set \(table).username as well"
            ),
            (
                hasPassword && !own.isMQTT && hasAuth, password,
                "would be sent in the header Authorization, as the tokens of \(table).auth are; remove one of the two"
            ),
            (
                hasPassword && own.sync.headers.contains { $0.name.lowercased() == "authorization" },
                password,
                "would be sent in the header Authorization, which \(table).headers sets; remove one of the two"
            ),
            (
                hasPassword && !own.isMQTT && WebAddress(own.sync.url)?.hasUser == true, password,
                "there is a login in \(table).url already; remove one of the two"
            ),
        ])
    }
}
