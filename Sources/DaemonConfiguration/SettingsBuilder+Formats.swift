internal import Envelope

// What contradicts itself within a destination: its format, its triggers, its request, its login.

extension SettingsBuilder {
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
            format.traits.needsDeviceID && own.format.deviceID == nil
            && !isBroken(table + ".device_id")
        let blamed = isSet(table + ".device_id") ? ".device_id" : ".format"
        check([
            (
                needsDevice && !own.sync.url.isEmpty, table + blamed,
                "\(format.rawValue) needs \(table).device_id, what the server knows this vehicle by"
            ),
            (
                !format.traits.isForeign && own.sync.onReject == .keep, table + ".on_reject",
                "\(format.rawValue) cannot keep what the backend calls invalid; use drop or isolate"
            ),
            (
                own.sync.acceptMember == nil && own.sync.acceptValues != Settings.Sync().acceptValues
                    && !isBroken(table + ".accept_member"), table + ".accept_value",
                "is what \(table).accept_member must be; set that as well"
            ),
            (
                own.sync.acceptValues.isEmpty, table + ".accept_value",
                "would accept nothing; name a value, such as \"ok\""
            ),
            (
                format.traits.isOneRow && own.sync.onReject == .isolate, table + ".on_reject",
                "a request of \(format.rawValue) holds one row, so there is nothing to isolate it from; use keep or drop"
            ),
        ])
        guard format == .owntracks, !own.sync.url.isEmpty else { return }
        if own.isMQTT { return checkHomeAssistant(own, name) }
        for leaf in ["accept_unsubscribed", "keep_connection", "home_assistant", "mqtt_version"]
        where isSet("\(table).\(leaf)") {
            addProblem(
                "\(table).\(leaf)",
                "is about MQTT, and \(table).url is neither mqtt:// nor mqtts://; remove it")
        }
    }

    /// The vehicle has one set of topics at a broker.
    private mutating func checkHomeAssistant(_ own: DestinationDraft, _ name: String) {
        guard own.format.mqtt.homeAssistant else { return }
        let table = Key.table(of: name)
        let earlier = names.prefix { $0 != name }.first { other in
            let its = draft[other]
            return its.isMQTT && its.format.name == .owntracks && its.format.mqtt.homeAssistant
                && its.sync.url == own.sync.url
        }
        check([
            (
                !own.format.mqtt.keepConnection, table + ".home_assistant",
                "the connection says whether the vehicle is online; set \(table).keep_connection = true as well"
            ),
            (
                earlier != nil, table + ".home_assistant",
                "\(Key.table(of: earlier ?? "")) announces the vehicle at the same broker already; remove it from one of the two"
            ),
        ])
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
        checkHeartbeat(own, table, manual)
    }

    /// The server of this destination may send commands.
    func takesCommands(_ table: String) -> Bool { winners[table + ".commands.enabled"]?.value == .bool(true) }

    private mutating func checkHeartbeat(_ own: DestinationDraft, _ table: String, _ manual: String) {
        let slot = table + ".heartbeat_seconds"
        let seconds = own.sync.heartbeatSeconds
        check([
            (seconds > 0 && seconds < 60, slot, "is less than a minute; use 0, or 60 to 86400"),
            (
                seconds == 0 && isSet(slot) && takesCommands(table), slot,
                "a stopped vehicle sends no locations, so \(table).commands could never start it again; use 60 to 86400"
            ),
            (seconds > 0 && isSet(slot) && own.sync.triggers.mode == .manual, slot, manual),
        ])
    }

    /// What the body looks like. Whether a template is one has been looked at, with its place, where it was written.
    mutating func checkRequest(_ own: DestinationDraft, _ table: String) {
        let template = own.format.template
        do {
            let params = try BodyFields(own.format.params)
            switch own.format.name {
            case .beekon:
                guard let name = params.reservedByBeekon else { return }
                addProblem(
                    "\(table).params.\(name)", "is the name of a field of the envelope; choose another")
            case .template:
                checkBody(own, table)
                let shape = try template.shape(params: params, batchSize: own.sync.batchSize)
                let leaf =
                    shape.location.tags.contains(.deviceID) ? ".location_template" : ".geofence_template"
                guard shape.tags.contains(.deviceID), own.format.deviceID == nil,
                    !isBroken(table + ".device_id")
                else { return }
                addProblem(
                    table + leaf,
                    "has the tag device_id; set \(table).device_id, what the server knows this vehicle by")
            case .overland, .owntracks, .osmand: break
            }
        } catch let invalid as TemplateShape.Invalid {
            addProblem(
                "\(table).\(invalid.key)" + (invalid.field.map { "." + $0 } ?? ""), invalid.reason)
        } catch {
            // A field that is none, of which that has been said.
        }
    }

    /// What a form, a query or lines leave nothing to be said of.
    private mutating func checkBody(_ own: DestinationDraft, _ table: String) {
        let template = own.format.template
        let (isQuery, isForm) = (template.isQuery, template.isForm)
        let what = isQuery ? "a query" : isForm ? "a form" : "body = \"text\""
        let size = winners[table + ".batch_size"]?.value
        let root = table + ".root_property"
        check([
            (
                isQuery && isSet(table + ".body") && template.body != .form, table + ".body",
                "the record of a GET is in the query, as that of a form is in the body; remove it, or use another method"
            ),
            (isQuery && template.compress, table + ".compress", "a GET has no body to compress; remove it"),
            (
                isForm && size != nil && size != .integer(1), table + ".batch_size",
                "\(what) holds one record; remove it"
            ),
            (
                (isForm || template.body == .text) && isSet(root)
                    && template.rootProperty != TemplateShape.bodyItself, root,
                "\(what) has no root; remove it"
            ),
            (
                isQuery && own.sync.url.contains("#"), table + ".url",
                "the query of a GET is appended, which “#” would hide; leave out what begins with it"
            ),
        ])
    }

    mutating func checkHeaders(_ own: DestinationDraft, _ name: String) {
        let isTemplate = own.format.name == .template
        guard !isTemplate || own.format.template.isQuery else { return }
        let types = winners.values.filter {
            $0.key.owner == name && $0.key.row == "sync.headers"
                && $0.entry?.lowercased() == Rules.contentType
        }
        for found in types {
            addProblem(found.slot, isTemplate ? "a GET has no body; remove this line" : Rules.typeReserved)
        }
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
