internal import Base
internal import Envelope

// What only shows in a whole destination, or between several of them.

extension SettingsBuilder {
    /// A contradiction: whether it is there, the setting to blame, and what is wrong and what to do.
    typealias Rule = (isBroken: Bool, slot: String, message: String)

    mutating func checkDestinations() {
        if destinations.count > Settings.Destination.limit {
            let surplus = destinations[Settings.Destination.limit]
            addProblem(
                at: surplus.origin, Key.table(of: surplus.name),
                "one of \(destinations.count) destinations; at most \(Settings.Destination.limit) are allowed besides [sync]"
            )
        }
        for name in names {
            let table = Key.table(of: name)
            checkAddresses(draft[name], table)
            checkFormat(draft[name], name)
            checkTriggers(draft[name], table)
            checkRequest(draft[name], table)
            checkHeaders(draft[name], name)
            checkCredentials(draft[name], table)
            noteTopic(draft[name], table)
            if name != Settings.Destination.main { checkTokens(of: name) }
        }
        checkRefreshTokens()
        checkCommands()
        if draft.main.sync.url.isEmpty, winners["sync.url"] == nil,
            let lost = winners.values.filter({ $0.key.name.hasPrefix("sync.") }).map(\.slot).min()
        {
            let loss = destinations.isEmpty ? "nothing is uploaded" : "nothing is sent to main"
            warnings.append("\(lost.escaped) is set, but \(loss) without sync.url")
        }
    }

    mutating func check(_ rules: [Rule]) {
        for rule in rules where rule.isBroken { addProblem(rule.slot, rule.message) }
    }

    func isSet(_ slot: String) -> Bool { winners[slot] != nil }

    /// Whether the value cannot be used, and a problem says so already.
    func isBroken(_ slot: String) -> Bool { problems.contains { $0.key == slot } }

    /// Two brokers have an opinion of their own about full stops.
    private mutating func noteTopic(_ own: DestinationDraft, _ table: String) {
        guard own.isMQTT, own.format.name == .owntracks else { return }
        let names = [
            ("device_id", own.format.deviceID), ("username", own.format.owntracks.username?.text),
        ]
        let dotted = names.filter { $0.1?.contains(".") == true }.map { "\(table).\($0.0)" }
        guard !dotted.isEmpty else { return }
        warnings.append(
            "\(dotted.joined(separator: " and ")): a '.' in a topic is a '/' to the subscribers of RabbitMQ, and NATS "
                + "refuses it; beekonctl destination test shows what this broker makes of it")
    }

    private mutating func checkAddresses(_ own: DestinationDraft, _ table: String) {
        for (slot, url) in [
            (table + ".url", own.sync.url), (table + ".auth.refresh_url", own.auth.values.refreshURL ?? ""),
        ] {
            guard let address = WebAddress(url),
                let secure = ["http": "https", "mqtt": "mqtts"][address.scheme],
                !address.isLoopback, !own.sync.allowInsecureHTTP
            else { continue }
            addProblem(
                slot,
                "\(address.scheme) to another host is readable on its way; use \(secure) (or \(table).allow_insecure_http = true)"
            )
        }
        check([
            (
                own.sync.clientKey != nil && own.sync.clientCertificate == nil, table + ".client_key",
                "a key needs its certificate; set \(table).client_certificate as well"
            ),
            (
                own.isMQTT && own.format.name != .owntracks, table + ".url",
                "only format owntracks speaks MQTT; use https, or set \(table).format = \"owntracks\""
            ),
            (
                own.isMQTT && WebAddress(own.sync.url)?.hasOnlyHost == false, table + ".url",
                "the topic follows from username and device_id, and the login from username and password; write host and "
                    + "port alone, such as \"mqtts://broker.example.com\""
            ),
            (
                own.format.name == .osmand && own.sync.url.contains("#"), table + ".url",
                "the query of format osmand is appended, which “#” would hide; leave out what begins with it"
            ),
        ])
    }

    private mutating func checkTokens(of name: String) {
        let table = Key.table(of: name)
        let own = draft[name]
        if own.sync.url.isEmpty, !isBroken(table + ".url") {
            let nearest = Nearest.name(to: name, among: names.filter { $0 != name })
            let hint = nearest.map { "; did you mean [\(Key.table(of: $0))]?" } ?? ""
            let message = "a destination needs a url\(hint)"
            if isSet(table + ".url") {
                addProblem(table + ".url", message)
            } else if let origin = destinations.first(where: { $0.name == name })?.origin {
                addProblem(at: origin, table, message)
            }
        }
        guard own.auth.sharedWith != nil else { return }
        let slot = table + ".auth"
        let place = Place(own.sync.url, slot)
        check([
            (
                own.auth.isTable, slot,
                "there is a table [\(slot)] as well; use the tokens of main, or its own"
            ),
            (
                !draft.main.auth.isTable, slot,
                "main has no tokens; write a table [sync.auth], or [\(slot)]"
            ),
            (
                place != nil && place != Place(draft.main.sync.url, "sync.url"), slot,
                "the tokens of main are for the scheme, host and port of sync.url alone; write a table [\(slot)]"
            ),
            (
                own.sync.url.hasPrefix("http:") && own.sync.proxy != nil
                    && own.sync.proxy != draft.main.sync.proxy, table + ".proxy",
                "would see the tokens of main, because the url is http; use https, the proxy of main, or a table [\(slot)]"
            ),
        ])
    }

    /// Two owners of a token that rotates would end each other's.
    private mutating func checkRefreshTokens() {
        var owners: [String: String] = [:]
        for name in names {
            // Copies of files have the mask in the place of every token.
            guard let token = draft[name].auth.values.refreshToken?.text, token != Secret.mask else {
                continue
            }
            let slot = Key.table(of: name) + ".auth.refresh_token"
            if let first = owners[token] {
                addProblem(
                    slot,
                    "is the same as \(first), and each refresh would end the other's; get a token of its own, or use main's "
                        + "(auth = \"main\")")
            } else {
                owners[token] = slot
            }
        }
    }

    /// An interval may be shorter where only the latest location is delivered.
    ///
    /// - Parameter runtime: what is set while running, this one included.
    func fitted(_ found: Assignment, among runtime: [String: SettingValue]) -> Assignment {
        guard found.key.row == "sync.interval_seconds", let owner = found.key.owner else { return found }
        let deliver = Key.table(of: owner) + ".deliver"
        let isLatest =
            (runtime[deliver] ?? winners[deliver]?.value) == .string(Settings.Deliver.latest.rawValue)
        return isLatest ? found.relaxed : found
    }
}

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
