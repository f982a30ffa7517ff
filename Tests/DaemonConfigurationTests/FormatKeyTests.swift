import Envelope
import Testing

@testable import DaemonConfiguration

/// A table in which a key may stand, without its name.
private let tables: [Settings.Format.Name: String] = [
    .beekon: "url = \"https://a.example/\"\n",
    .template: "url = \"https://a.example/\"\nformat = \"template\"\n",
    .overland: "url = \"https://a.example/\"\nformat = \"overland\"\n",
    .owntracks: "url = \"mqtts://a.example\"\nformat = \"owntracks\"\ndevice_id = \"van1\"\n",
    .osmand: "url = \"https://a.example/\"\nformat = \"osmand\"\ndevice_id = \"van1\"\n",
]

/// A key, a value for it and what becomes of it, and a value that is refused.
struct Sample: Sendable, CustomTestStringConvertible {
    let leaf: String
    let format: Settings.Format.Name
    let good: String
    let arrives: @Sendable (Settings.Sync) -> Bool
    let bad: String
    let complaint: String

    init(
        _ leaf: String, _ format: Settings.Format.Name, _ good: String, _ bad: String, _ complaint: String,
        _ arrives: @escaping @Sendable (Settings.Sync) -> Bool
    ) {
        (self.leaf, self.format, self.good, self.bad) = (leaf, format, good, bad)
        (self.complaint, self.arrives) = (complaint, arrives)
    }

    var testDescription: String { "\(leaf) = \(good)" }

    static let all: [Sample] = [
        Sample("format", .beekon, "\"beekon\"", "\"beacon\"", "did you mean \"beekon\"?") {
            $0.format.name == .beekon
        },
        Sample("deliver", .beekon, "\"latest\"", "\"newest\"", "one of \"all\", \"latest\"") {
            $0.deliver == .latest
        },
        Sample("order", .overland, "\"newest\"", "\"new\"", "\"oldest\"") { $0.format.order == .newest },
        Sample("mode", .beekon, "\"manual\"", "\"off\"", "\"auto\"") { $0.triggers.mode == .manual },
        Sample("on_motion_change", .beekon, "true", "1", "true or false") { $0.triggers.onMotionChange },
        Sample("geofence_retry", .beekon, "true", "\"yes\"", "without quotes") { $0.triggers.geofenceRetry },
        Sample("heartbeat_seconds", .beekon, "86400", "-1", "from 0 to 86400") {
            $0.heartbeatSeconds == 86_400
        },
        Sample("heartbeat_seconds", .owntracks, "60", "\"60\"", "without quotes") {
            $0.heartbeatSeconds == 60
        },
        Sample("metered", .beekon, "\"avoid\"", "true", "\"avoid\"") {
            $0.triggers.metered == .some(.init())
        },
        Sample("device_id", .template, "\"Van_1.a-b\"", "\"van 1\"", "A-Z, a-z, 0-9") {
            $0.format.deviceID == "Van_1.a-b"
        },
        Sample(
            "device_id", .overland, "\"\(String(repeating: "x", count: 64))\"",
            "\"\(String(repeating: "x", count: 65))\"", "1 to 64"
        ) {
            $0.format.deviceID?.count == 64
        },
        Sample("username", .owntracks, "\"fleet\"", "\"a/b\"", "A-Z, a-z, 0-9") {
            guard case .owntracks(let format) = $0.format else { return false }
            return format.username == Secret("fleet") && format.password == nil && format.deviceID == "van1"
        },
        Sample("accept_unsubscribed", .owntracks, "true", "\"true\"", "without quotes") {
            guard case .owntracks(let format) = $0.format else { return false }
            return format.mqtt?.acceptUnsubscribed == true && format.mqtt?.keepConnection == false
        },
        Sample("keep_connection", .owntracks, "true", "0", "true or false") {
            guard case .owntracks(let format) = $0.format else { return false }
            return format.mqtt?.keepConnection == true
        },
        Sample("home_assistant", .owntracks, "true\nkeep_connection = true", "1", "true or false") {
            guard case .owntracks(let format) = $0.format else { return false }
            return format.mqtt?.homeAssistant == true && format.mqtt?.keepConnection == true
        },
        Sample("mqtt_version", .owntracks, "\"3.1.1\"", "\"4\"", "\"auto\"") {
            guard case .owntracks(let format) = $0.format else { return false }
            return format.mqtt?.version == .old
        },
        Sample("speed_unit", .osmand, "\"mps\"", "\"kmh\"", "\"knots\"") {
            $0.format == .osmand(.init(deviceID: "van1", speedUnit: .mps))
        },
        Sample("method", .template, "\"PUT\"", "\"HEAD\"", "\"PATCH\"") { $0.template?.method == .put },
        Sample("body", .template, "\"form\"\nlocation_template = '{\"a\":1}'", "\"xml\"", "\"form\"") {
            $0.template?.shape.body == .form && $0.template?.shape.geofence == nil && $0.batchSize == 1
        },
        Sample("root_property", .template, "\".\"", "\"\"", "1 to 100") {
            $0.template?.shape.rootProperty == "."
        },
        Sample("extras_in", .template, "\"none\"", "\"body\"", "\"root\"") {
            $0.template?.shape.extras == TemplateShape.ExtrasPlace.none
        },
        Sample(
            "location_template", .template, "'{\"a\":<%= speed %>}'",
            "\"\(String(repeating: "x", count: 8193))\"", "more than 8192 bytes"
        ) {
            $0.template?.shape.location.source == "{\"a\":<%= speed %>}"
                && $0.template?.shape.geofence?.source == Template.Kind.geofence.guideText
        },
        Sample("geofence_template", .template, "'[\"<%= geofence.action %>\"]'", "{}", "found a table") {
            $0.template?.shape.geofence?.tags == [.geofenceAction]
        },
        Sample(
            "location_template", .template, "'{\"a\": true}'", "\"{\\\"a\\\": <%= speeed %>}\"",
            "line 1, column 7 of the template: there is no tag speeed; write <%= speed %>"
        ) {
            $0.template?.shape.location.tags == []
        },
        Sample("compress", .template, "true", "\"gzip\"", "true or false") { $0.template?.compress == true },
        Sample("params", .template, "{ a = 1, b = \"x\", c = true, d = 0.5 }", "[1]", "found a list") {
            $0.template?.shape.params.text == ",\"a\":1,\"b\":\"x\",\"c\":true,\"d\":0.5"
        },
        Sample("params", .beekon, "{ fleet = \"north\" }", "\"x\"", "write [") {
            guard case .beekon(let format) = $0.format else { return false }
            return format.params.text == ",\"fleet\":\"north\""
        },
        Sample("batch_size", .template, "1", "\"1\"", "without quotes") { $0.batchSize == 1 },
        Sample("on_reject", .overland, "\"isolate\"", "\"hold\"", "\"keep\"") { $0.onReject == .isolate },
        Sample("on_reject", .osmand, "\"drop\"", "true", "\"keep\"") { $0.onReject == .drop },
        Sample("require_ack", .template, "true", "1", "true or false") { $0.requireAck },
        Sample("accept_member", .beekon, "\"data.0.status\"", "\"data..status\"", "not a dot path") {
            $0.acceptMember == "data.0.status" && $0.acceptValues == ["ok"]
        },
        Sample("accept_member", .overland, "\"result\"", "[\"result\"]", "put it in quotes") {
            $0.acceptMember == "result"
        },
        Sample("accept_value", .overland, "\"ok\"", "\"a\\nb\"", "one line") {
            $0.acceptValues == ["ok"] && $0.acceptMember == nil
        },
        Sample("unique_id", .overland, "\"device\"", "\"vehicle\"", "\"location\", \"device\"") {
            guard case .overland(let format) = $0.format else { return false }
            return format.uniqueID == .device
        },
        Sample("geofence_events", .owntracks, "false", "1", "true or false") { !$0.geofenceEvents },
    ]
}

extension Settings.Sync {
    fileprivate var template: Settings.Template? {
        if case .template(let format) = format { format } else { nil }
    }
}

@Suite("settings of formats and triggers") struct FormatKeyTests {
    private static let places = ["sync", "destination.home"]

    private static func text(_ place: String, _ format: Settings.Format.Name, _ lines: String) -> String {
        "[\(place)]\n" + (tables[format] ?? "") + lines
    }

    private static func sync(_ settings: Settings, _ place: String) -> Settings.Sync? {
        place == "sync" ? settings.sync : settings.destinations.first?.sync
    }

    @Test(
        "each arrives in [sync] and in a destination alike, and is refused there alike", arguments: Sample.all
    )
    func samples(sample: Sample) throws {
        for place in Self.places {
            // `format` and `deliver` are in the way of their own values.
            let table =
                sample.leaf == "format" ? "url = \"https://a.example/\"\n" : tables[sample.format] ?? ""
            let workshop = try Workshop()
            let good = try workshop.load("[\(place)]\n\(table)\(sample.leaf) = \(sample.good)\n").settings
            let sync = try #require(Self.sync(good, place))
            #expect(sample.arrives(sync), "\(place)")
            #expect(good.allDestinations.map(\.name) == [place == "sync" ? "main" : "home"])
            let problems = workshop.problems("[\(place)]\n\(table)\(sample.leaf) = \(sample.bad)\n")
            let line = 2 + table.count { $0 == "\n" }
            #expect(problems.map(\.line) == [line] && problems.first?.key == "\(place).\(sample.leaf)")
            #expect(problems.first?.message.contains(sample.complaint) == true, "\(problems)")
        }
    }

    @Test("the metered route: its interfaces and its patience") func metered() throws {
        for place in Self.places {
            let workshop = try Workshop()
            let text = Self.text(
                place, .beekon, "metered_interfaces = [\"usb?\"]\nmetered_max_wait_seconds = 3600\n")
            let without = try workshop.load(text).settings
            #expect(Self.sync(without, place)?.triggers.metered == nil)
            let loaded = try workshop.load(text + "metered = \"avoid\"\n")
            let metered = try #require(Self.sync(loaded.settings, place)?.triggers.metered)
            #expect(metered.interfaces == ["usb?"] && metered.maxWaitSeconds == 3600)
            #expect(
                loaded.listing.first { $0.key == place + ".metered_interfaces" }?.value == .list(["usb?"]))
            #expect(workshop.problems("[sync]\nmetered_interfaces = []\n").isEmpty)
            for (bad, message) in [
                ("metered_interfaces = \"wwan0\"", "write [\"…\"]"),
                ("metered_interfaces = [1]", "found a list"),
                ("metered_interfaces = [\"a b\"]", "not the name of an interface"),
                ("metered_interfaces = [\"\"]", "not the name"),
                (
                    "metered_interfaces = [\(Array(repeating: "\"a\"", count: 17).joined(separator: ","))]",
                    "at most 16"
                ),
                ("metered_max_wait_seconds = -1", "from 0 to 31536000 (seconds)"),
            ] {
                let problems = workshop.problems(Self.text(place, .beekon, bad))
                #expect(problems.count == 1 && problems.first?.line == 3, "\(bad)")
                #expect(problems.first?.message.contains(message) == true, "\(problems)")
            }
        }
    }

    @Test(
        "what an answer must say: a text, or some of them",
        arguments: ["\"false\"", "[\"false\"]", "[\"false\", \"\"]"])
    func acceptance(value: String) throws {
        for place in Self.places {
            let text = Self.text(place, .template, "accept_member = \"error\"\naccept_value = \(value)\n")
            let loaded = try Workshop().load(text)
            let values = value.contains(",") ? ["false", ""] : ["false"]
            #expect(Self.sync(loaded.settings, place)?.acceptValues == values)
            #expect(loaded.listing.first { $0.key == place + ".accept_value" }?.value == .list(values))
            let many = "[" + Array(repeating: "\"a\"", count: 17).joined(separator: ",") + "]"
            let problems = try Workshop().problems(
                Self.text(place, .template, "accept_member = \"a\"\naccept_value = \(many)\n"))
            #expect(problems.first?.message.contains("at most 16") == true, "\(problems)")
        }
    }

    @Test("what follows from the format", arguments: Settings.Format.Name.allCases)
    func defaults(format: Settings.Format.Name) throws {
        for place in Self.places {
            let loaded = try Workshop().load(Self.text(place, format, ""))
            let sync = try #require(Self.sync(loaded.settings, place))
            // Which formats are which, UploadTests/ForeignAnswerTests says.
            let (isForeign, isOneRow) = (format.traits.isForeign, format.traits.isOneRow)
            #expect(sync.format.name == format && sync.format.order == .oldest)
            #expect(sync.onReject == (isForeign ? .keep : .drop) && sync.batchSize == (isOneRow ? 1 : 100))
            let values = Dictionary(uniqueKeysWithValues: loaded.listing.map { ($0.key, $0.value) })
            #expect(values[place + ".on_reject"] == .string(isForeign ? "keep" : "drop"))
            #expect(values[place + ".batch_size"] == .integer(isOneRow ? 1 : 100))
            #expect(loaded.warnings.isEmpty)
        }
    }

    @Test("one that another format has is refused, in each format", arguments: Settings.Format.Name.allCases)
    func others(format: Settings.Format.Name) throws {
        let values = [
            "batch_size": "5", "heartbeat_seconds": "60", "order": "\"oldest\"", "require_ack": "true",
            "geofence_events": "false", "mqtt_version": "\"5\"",
            "platform": "\"linux\"",
            "device_id": "\"a\"", "username": "\"a\"", "password": "\"a\"", "accept_unsubscribed": "true",
            "keep_connection": "true", "home_assistant": "true", "speed_unit": "\"mps\"", "method": "\"PUT\"",
            "body": "\"json\"",
            "root_property": "\"a\"",
            "params": "{ a = \"b\" }", "extras_in": "\"none\"", "location_template": "\"[1]\"",
            "geofence_template": "\"[1]\"", "compress": "true", "accept_member": "\"a\"",
            "accept_value": "\"ok\"", "unique_id": "\"device\"",
        ]
        let limited = (Key.sync + Key.formats).filter { $0.formats != nil }
        #expect(Set(values.keys) == Set(limited.map { String($0.name.dropFirst("sync.".count)) }))
        for key in limited where key.formats?.contains(format) == false {
            let leaf = String(key.name.dropFirst("sync.".count))
            for place in Self.places {
                // The required one stands in the table already.
                let text = Self.text(place, format, "\(leaf) = \(values[leaf] ?? "")\n")
                let problems = try Workshop().problems(text)
                #expect(
                    problems.count == 1
                        && problems.first?.message.contains("\(place).format is \(format)") == true,
                    "\(problems)")
                #expect(problems.first?.key?.hasPrefix("\(place).\(leaf)") == true)
                #expect(problems.first?.line == text.count { $0 == "\n" })
            }
        }
    }

    @Test(
        "what makes no sense together is refused where it stands",
        arguments: [
            ("format = \"owntracks\"", "format", "needs @.device_id"),
            ("format = \"osmand\"", "format", "needs @.device_id"),
            ("format = \"osmand\"\ndevice_id = \"a b\"", "device_id", "A-Z, a-z, 0-9"),
            ("format = \"osmand\"\ndevice_id = \"\"", "device_id", "needs @.device_id"),
            ("on_reject = \"keep\"", "on_reject", "use drop or isolate"),
            ("format = \"template\"\non_reject = \"keep\"", "on_reject", "use drop or isolate"),
            ("format = \"osmand\"\ndevice_id = \"a\"\non_reject = \"isolate\"", "on_reject", "holds one row"),
            (
                "format = \"osmand\"\ndevice_id = \"a\"\norder = \"newest\"", "order",
                "formats beekon, template, overland"
            ),
            ("accept_value = \"7\"", "accept_value", "set that as well"),
            ("format = \"overland\"\naccept_value = [\"7\"]", "accept_value", "@.accept_member must be"),
            ("accept_member = \"a\"\naccept_value = []", "accept_value", "would accept nothing"),
            (
                "accept_member = \"a\"\naccept_value = true", "accept_value",
                "a text in quotes or a list of texts"
            ),
            ("mode = \"manual\"\nsync_threshold = 5", "sync_threshold", "remove one of the two"),
            ("mode = \"manual\"\non_motion_change = true", "on_motion_change", "remove one of the two"),
            ("mode = \"manual\"\ngeofence_retry = true", "geofence_retry", "remove one of the two"),
            ("mode = \"manual\"\nheartbeat_seconds = 60", "heartbeat_seconds", "remove one of the two"),
            ("heartbeat_seconds = 59", "heartbeat_seconds", "use 0, or 60 to 86400"),
            ("heartbeat_seconds = 86401", "heartbeat_seconds", "from 0 to 86400 (seconds)"),
            (
                "format = \"overland\"\nheartbeat_seconds = 60", "heartbeat_seconds",
                "formats beekon, owntracks"
            ),
            ("mode = \"manual\"\nmetered = \"avoid\"", "metered", "remove one of the two"),
            ("mode = \"manual\"\ndeliver = \"latest\"", "deliver", "remove one of the two"),
            ("deliver = \"latest\"\nsync_threshold = 1", "sync_threshold", "is about a queue"),
            ("deliver = \"latest\"\norder = \"newest\"", "order", "is about a queue"),
            ("deliver = \"latest\"\non_reject = \"drop\"", "on_reject", "is about a queue"),
            ("params = { locations = \"x\" }", "params.locations", "a field of the envelope"),
            ("params = { command_results = 1 }", "params.command_results", "a field of the envelope"),
            ("params = { events = \"x\" }", "params.events", "a field of the envelope"),
            ("params = { status = \"x\" }", "params.status", "a field of the envelope"),
            ("format = \"template\"\nparams = { location = 1 }", "params.location", "where the records are"),
            (
                "format = \"template\"\nroot_property = \".\"\nparams = { a = 1 }", "params.a",
                "where an array is the body"
            ),
            (
                "format = \"template\"\nroot_property = \".\"\nextras_in = \"root\"", "extras_in",
                "there is no root where an array is the body"
            ),
            ("params = { Events = \"x\" }", "params.Events", "a field of the envelope"),
            (
                "format = \"template\"\nbatch_size = 1\nroot_property = \".\"\nparams = { event = 1 }",
                "params.event", "a name in the template"
            ),
            (
                "format = \"template\"\nlocation_template = '[\"<%= device_id %>\"]'", "location_template",
                "set @.device_id"
            ),
            (
                "format = \"template\"\ngeofence_template = '[\"<%= device_id %>\"]'", "geofence_template",
                "set @.device_id"
            ),
            ("params = { a = nan }", "params.a", "a finite one"),
            ("params = { \"a\\u0007\" = 1 }", "params.a\\u{7}", "without control characters"),
            ("params = { a = [1] }", "params.a", "a number, true or false"),
            ("params = { a = { b = 1 } }", "params.a", "{ file"),
            ("params = { a = 1979-05-27 }", "params.a", "found a date"),
            (
                "format = \"owntracks\"\ndevice_id = \"a\"\nkeep_connection = false", "keep_connection",
                "is about MQTT"
            ),
            (
                "format = \"owntracks\"\ndevice_id = \"a\"\nhome_assistant = false", "home_assistant",
                "is about MQTT"
            ),
            ("format = \"owntracks\"\ndevice_id = \"a\"\npassword = \"p\"", "password", "set @.username"),
        ])
    func contradictions(lines: String, leaf: String, message: String) throws {
        for place in Self.places {
            let text = "[\(place)]\nurl = \"https://a.example/\"\n\(lines)\n"
            let problems = try Workshop().problems(text)
            #expect(problems.count == 1 && problems.first?.key == "\(place).\(leaf)", "\(problems)")
            #expect((problems.first?.line ?? 0) > 2)
            let expected = message.split(separator: "@", omittingEmptySubsequences: false).joined(
                separator: place)
            #expect(problems.first?.message.contains(expected) == true, "\(problems)")
        }
    }

    @Test("names of params differ by case, those of headers do not") func cases() throws {
        let sync = try #require(
            try Workshop().load("[sync]\nurl = \"https://a.example/\"\nparams = { A = 1, a = 2 }\n").settings
                .sync)
        guard case .beekon(let format) = sync.format else { return #expect(Bool(false)) }
        #expect(format.params.fields.map(\.name) == ["A", "a"])
    }

    @Test(
        "which URLs each format takes",
        arguments: [
            ("mqtts://broker.example", Settings.Format.Name.owntracks, "", nil),
            ("mqtt://localhost:1884/", .owntracks, "", nil),
            ("mqtt://broker.example", .owntracks, "", "use mqtts (or @.allow_insecure_http = true)"),
            ("mqtt://broker.example", .owntracks, "allow_insecure_http = true\n", nil),
            ("https://a.example/pub", .owntracks, "", nil),
            ("http://a.example/pub", .owntracks, "", "use https"),
            ("mqtts://broker.example", .beekon, "", "only format owntracks"),
            ("mqtts://a.example", .osmand, "", "only format owntracks"),
            ("mqtts://a.example/owntracks/a/b", .owntracks, "", "host and port alone"),
            ("mqtts://u:p@a.example", .owntracks, "", "host and port alone"),
            ("ws://a.example", .owntracks, "", "not a usable URL"),
            ("https://a.example/?k=1", .osmand, "", nil),
            ("https://a.example/#x", .osmand, "", "which “#” would hide"),
        ] as [(String, Settings.Format.Name, String, String?)])
    func urls(url: String, format: Settings.Format.Name, more: String, complaint: String?) throws {
        let rest = (tables[format] ?? "").split(separator: "\n").dropFirst().map { $0 + "\n" }.joined()
        for place in Self.places {
            let workshop = try Workshop()
            let text = "[\(place)]\nurl = \"\(url)\"\n\(rest)\(more)"
            guard let complaint else {
                let settings = try workshop.load(text).settings
                #expect(Self.sync(settings, place)?.url == url)
                continue
            }
            let problems = workshop.problems(text)
            let expected = complaint.split(separator: "@", omittingEmptySubsequences: false).joined(
                separator: place)
            #expect(problems.count == 1 && problems.first?.key == place + ".url" && problems.first?.line == 2)
            #expect(problems.first?.message.contains(expected) == true, "\(problems)")
        }
        #expect(
            Settings.target(of: "mqtts://a.example")?.port == 8883
                && Settings.target(of: "mqtt://a.example")?.port == 1883)
    }

    @Test(
        "one way to log in",
        arguments: [
            ("https://a.example/", "username = \"u\"\npassword = \"p\"\n", nil),
            ("https://a.example/", "username = \"u\"\n[@.auth]\naccess_token = \"t\"\n", nil),
            ("https://a.example/", "username = \"u\"\n[@.headers]\nAuthorization = \"t\"\n", nil),
            (
                "https://a.example/", "username = \"u\"\npassword = \"p\"\n[@.auth]\naccess_token = \"t\"\n",
                "password"
            ),
            (
                "https://a.example/",
                "username = \"u\"\npassword = \"p\"\n[@.headers]\nauthorization = \"t\"\n", "password"
            ),
            ("https://x:y@a.example/", "username = \"u\"\npassword = \"p\"\n", "password"),
            ("mqtts://a.example", "username = \"u\"\npassword = \"p\"\n", nil),
            ("mqtts://a.example", "[@.headers]\nX = \"y\"\n", "headers.x"),
            ("mqtts://a.example", "[@.auth]\naccess_token = \"t\"\n", "auth.access_token"),
        ] as [(String, String, String?)])
    func logins(url: String, lines: String, culprit: String?) throws {
        for place in Self.places {
            let text =
                "[\(place)]\nurl = \"\(url)\"\nformat = \"owntracks\"\ndevice_id = \"van1\"\n"
                + lines.split(separator: "@", omittingEmptySubsequences: false).joined(separator: place)
            let problems = try Workshop().problems(text)
            #expect(problems.map(\.key) == (culprit.map { ["\(place).\($0)"] } ?? []), "\(problems)")
        }
    }

    @Test("rows that nobody has received may go by age, if the operator says so") func unsent() throws {
        let workshop = try Workshop()
        #expect(try workshop.load("[store]\nunsent_days = 0.01\n").settings.store.unsentDays == 0.01)
        #expect(try workshop.load("[store]\nunsent_days = 0\n").settings.store.unsentDays == 0)
        for bad in ["0.001", "-1", "36501", "nan"] {
            let problems = workshop.problems("[store]\nunsent_days = \(bad)\n")
            #expect(problems.map(\.key) == ["store.unsent_days"] && problems.first?.line == 2)
        }
    }
}
