internal import Base

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
