import FoundationEssentials
import Testing

@testable import DaemonConfiguration

@Suite("loading") struct LoaderTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    /// The file that ships.
    static let shipped = root + "/etc/beekond.toml"

    @Test("the defaults are those of the manual") func defaults() throws {
        let loaded = try Loader.load(file: "/nonexistent/beekond.toml", isDefaultPath: true)
        let settings = loaded.settings
        #expect(settings == Settings())
        #expect(settings.sync == nil && settings.extras.isEmpty && loaded.warnings.isEmpty)
        #expect(loaded.listing.allSatisfy { $0.origin == .default })
        let expected: [String: SettingValue] = [
            "gpsd.host": .string("127.0.0.1"), "gpsd.port": .integer(2947), "gpsd.device": .string(""),
            "gpsd.replay": .bool(false), "tracking.autostart": .bool(false),
            "tracking.schedule": .list([]), "tracking.time_zone": .string(""),
            "tracking.interval_seconds": .number(30),
            "tracking.distance_meters": .number(100), "tracking.angle_degrees": .number(0),
            "tracking.stationary_mode": .string("pause"), "tracking.stationary_radius_meters": .number(5),
            "tracking.stationary_after_seconds": .number(120),
            "tracking.check_in_interval_seconds": .number(900),
            "tracking.detect_activity": .bool(false), "tracking.low_accuracy_meters": .number(100),
            "tracking.implausible_speed_mps": .number(100), "vehicle.ignition": .string("none"),
            "vehicle.supply": .string(""), "vehicle.gpio_chip": .string(""),
            "vehicle.gpio_line": .integer(-1), "vehicle.gpio_active_low": .bool(false),
            "vehicle.ignition_debounce_seconds": .number(2), "vehicle.on_ignition": .string("record"),
            "vehicle.ignition_off_delay_seconds": .number(60), "vehicle.trip_gap_seconds": .number(300),
            "vehicle.events": .list([]), "store.retention_days": .number(7),
            "store.max_rows": .integer(100_000), "store.durability": .string("full"),
            "store.keep_uploaded": .bool(false), "store.unsent_days": .number(0), "sync.url": .string(""),
            "log.level": .string("info"),
            "sync.interval_seconds": .number(300), "sync.heartbeat_seconds": .number(0),
            "sync.batch_size": .integer(100), "sync.sync_threshold": .integer(0),
            "sync.timeout_seconds": .number(60),
            "sync.on_reject": .string("drop"), "sync.allow_insecure_http": .bool(false),
            "sync.require_ack": .bool(false), "sync.accept_member": .string(""),
            "sync.accept_value": .list(["ok"]), "sync.unique_id": .string("location"),
            "sync.geofence_events": .bool(true), "sync.mqtt_version": .string("auto"),
            "sync.ca_file": .string(""),
            "sync.client_certificate": .string(""), "sync.client_key": .string(""), "sync.proxy": .string(""),
            "sync.platform": .string("linux"), "sync.format": .string("beekon"),
            "sync.deliver": .string("all"),
            "sync.order": .string("oldest"), "sync.mode": .string("auto"),
            "sync.on_motion_change": .bool(false), "sync.geofence_retry": .bool(false),
            "sync.metered": .string("allow"), "sync.metered_interfaces": .list(["wwan*", "ppp*"]),
            "sync.metered_max_wait_seconds": .number(0), "sync.device_id": .string(""),
            "sync.username": .string(""), "sync.password": .string(""),
            "sync.accept_unsubscribed": .bool(false), "sync.keep_connection": .bool(false),
            "sync.home_assistant": .bool(false),
            "sync.speed_unit": .string("knots"), "sync.method": .string("POST"),
            "sync.body": .string("json"),
            "sync.root_property": .string("location"), "sync.extras_in": .string("record"),
            "sync.location_template": .string(""), "sync.geofence_template": .string(""),
            "sync.commands.enabled": .bool(false), "sync.commands.allow": .list([]),
            "sync.commands.settings": .list([]), "sync.commands.max": .integer(16),
            "sync.commands.verify_keys": .list([]),
            "display.units": .string("metric"),
            "sync.compress": .bool(false), "sync.auth.skew_margin_seconds": .number(60),
        ]
        for (key, value) in expected {
            #expect(loaded.listing.first { $0.key == key }?.value == value, "\(key)")
        }
        let others = loaded.listing.map(\.key).filter { expected[$0] == nil && !$0.hasPrefix("sync.auth.") }
        #expect(others.isEmpty, "the table above lacks them")
    }

    @Test("the shipped file says the defaults, and says all of them") func shippedFile() throws {
        let text = try String(contentsOfFile: Self.shipped, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let isSetting = { (line: Substring) in
            line.hasPrefix("#") && line.dropFirst().first?.isLowercase == true
        }
        let open = lines.map { isSetting($0) ? $0.dropFirst() : $0 }.joined(separator: "\n")
        let workshop = try Workshop()
        #expect(try workshop.load(text).settings == Settings())
        let loaded = try workshop.load(open)
        #expect(loaded.settings == Settings())
        // Those of other formats would contradict the default one.
        let missing = loaded.listing.filter { entry in
            let formats = Key.named(entry.key)?.key.formats
            return entry.origin == .default && !entry.key.hasPrefix("sync.auth.")
                && formats?.contains(.beekon) != false
        }
        #expect(missing.isEmpty, "etc/beekond.toml lacks them, or they are not in a line of their own")
        let seeds = try ["toml", "configuration"].map {
            try String(contentsOfFile: Self.root + "/Tests/Fuzz/seeds/\($0)/on.toml", encoding: .utf8)
        }
        for key in Key.all where !key.isOpen {
            let leaf = key.name.split(separator: ".").last ?? ""
            let isThere = text.contains("\(leaf) = ")
            #expect(isThere, "\(key.name) is not in etc/beekond.toml")
            let isSeed = seeds.allSatisfy { $0.contains("\n\(leaf) = ") }
            #expect(isSeed, "\(key.name) is not in on.toml of Tests/Fuzz/seeds/toml and configuration")
        }
    }

    @Test("drop-ins win in name order, runtime settings over both") func precedence() throws {
        let workshop = try Workshop()
        try workshop.write("[gpsd]\nport = 2\nhost = \"b\"\n", to: "beekond.d/20.toml")
        try workshop.write("[gpsd]\nport = 1\nreplay = true\n", to: "beekond.d/10.toml")
        try workshop.write("broken", to: "beekond.d/30.toml.bak")
        try workshop.write("broken", to: "beekond.d/.hidden.toml")
        let loaded = try workshop.load(
            "gpsd.device = \"a\"\ngpsd.host = \"a\"\n[extras]\nb = \"1\"",
            runtime: ["gpsd.host": .string("c")])
        #expect(loaded.settings.gpsd.host == "c")
        #expect(loaded.settings.gpsd.port == 2)
        #expect(loaded.settings.gpsd.replay)
        #expect(loaded.settings.gpsd.device == "a")
        #expect(loaded.settings.extras == ["b": "1"])
        let origins = Dictionary(uniqueKeysWithValues: loaded.listing.map { ($0.key, $0.origin.description) })
        #expect(origins["gpsd.host"] == "runtime")
        #expect(origins["gpsd.port"] == "\(workshop.folder)/beekond.d/20.toml:2")
        #expect(origins["gpsd.replay"] == "\(workshop.folder)/beekond.d/10.toml:3")
        #expect(origins["gpsd.device"] == "\(workshop.file):1")
        #expect(origins["store.max_rows"] == "default")
    }

    @Test(
        "three settings are clamped, with one warning each",
        arguments: [
            ("batch_size = 5000", 1000), ("batch_size = 0", 1), ("batch_size = -9223372036854775808", 1),
        ])
    func clamped(text: String, expected: Int) throws {
        let loaded = try Workshop().load(
            "[sync]\nurl = \"https://a.b\"\ninterval_seconds = 5\n\(text)\n[tracking]\nstationary_radius_meters = 1e300\n"
        )
        #expect(loaded.settings.sync?.batchSize == expected)
        #expect(loaded.settings.sync?.intervalSeconds == 60)
        #expect(loaded.settings.tracking.stationaryRadiusMeters == 1000)
        #expect(loaded.warnings.count == 3)
        #expect(
            loaded.warnings.contains {
                $0.contains("beekond.toml:3: sync.interval_seconds: 5 is out of range")
            })
    }

    @Test("exactly these are clamped") func clampedKeys() {
        #expect(
            Key.all.filter(\.isClamped).map(\.name)
                == ["tracking.stationary_radius_meters", "sync.interval_seconds", "sync.batch_size"])
    }

    @Test("a full sync table arrives as written") func sync() throws {
        let sync = try #require(
            try Workshop().load(
                """
                [sync]
                url = "http://localhost:8080/x"
                on_reject = "isolate"
                timeout_seconds = 12.5
                [sync.headers]
                X-B = 'b'
                X-A = "a"
                [sync.auth]
                refresh_token = "r"
                expires_at = 1_767_225_600
                strategy = "raw"
                refresh_url = "https://[::1]:8443/t"
                refresh_headers = {}
                response_mapping.access_token = "data.token"
                [sync.auth.refresh_payload]
                grant_type = "refresh_token"
                """
            ).settings.sync)
        #expect(sync.onReject == .isolate && sync.timeoutSeconds == 12.5)
        #expect(
            sync.headers == [.init(name: "X-A", value: Secret("a")), .init(name: "X-B", value: Secret("b"))])
        let auth = try #require(sync.auth)
        #expect(
            auth.refreshToken == Secret("r") && auth.accessToken == nil && auth.expiresAt == 1_767_225_600)
        #expect(auth.strategy == .raw && auth.refreshBodyFormat == .form)
        #expect(auth.responseMapping.accessToken == "data.token")
        #expect(auth.refreshPayload.map(\.name) == ["grant_type"])
        #expect(auth.refreshHeaders.isEmpty, "an empty table replaces the default header")
    }

    @Test(
        "http is enough on this machine, or when it is allowed",
        arguments: [
            "http://127.0.0.1/", "http://127.9.8.7:80/", "http://[::1]/x", "http://LOCALHOST",
            "https://a.b/?q=1",
        ])
    func loopback(url: String) throws {
        let workshop = try Workshop()
        #expect(try workshop.load("[sync]\nurl = \"\(url)\"\n").settings.sync?.url == url)
        #expect(
            try workshop.load("[sync]\nurl = \"http://a.b\"\nallow_insecure_http = true").settings.sync != nil
        )
    }

    @Test("settings of sync without a url are pointed out") func lostSync() throws {
        let loaded = try Workshop().load("[sync]\nbatch_size = 10\n")
        #expect(loaded.settings.sync == nil)
        #expect(loaded.warnings == ["sync.batch_size is set, but nothing is uploaded without sync.url"])
    }

    @Test("who may change what, key by key", arguments: Key.all.map(\.name)) func rights(name: String) throws
    {
        // Without uploads nobody tells that they have stopped: a timeout of a second ends them all.
        let tunable = [
            "sync.interval_seconds", "sync.batch_size", "sync.sync_threshold", "extras", "display.units",
        ]
        let thresholds = ["ignition_debounce", "ignition_off_delay", "trip_gap"].map {
            "vehicle.\($0)_seconds"
        }
        let isTunable = name.hasPrefix("tracking.") || (tunable + thresholds).contains(name)
        let key = try #require(Key.all.first { $0.name == name })
        #expect(key.needsAdmin == !isTunable)
        #expect(Key.needsAdmin(key.isOpen ? name + ".x" : name) == !isTunable)
    }

    @Test("what another version may know needs rights, unless all of its table may be tuned")
    func rightsOfTheUnknown() {
        for name in ["sync.future", "store.future", "gpsd.future", "vehicle.future", "", "sync", "tracking"] {
            #expect(Key.needsAdmin(name), "\(name)")
        }
        #expect(!Key.needsAdmin("tracking.future") && !Key.needsAdmin("extras.future"))
    }
}
