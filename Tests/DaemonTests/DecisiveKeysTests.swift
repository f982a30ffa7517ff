import Base
import DaemonConfiguration
import FoundationEssentials
import Storage
import Support
import Testing
import Tracking
import Upload

@testable import Daemon

/// What decides the bytes of a batch has a place in the number by which it is known that a refused batch is to be made anew.
@Suite("keys that decide bytes")
struct DecisiveKeysTests {
    /// What a change of a key does to batches that are frozen.
    enum Word: Sendable {
        /// All are made anew: the server knows the vehicle by it, or takes other requests.
        case dissolvesAll
        /// Batches that were refused for good are: the setting decides bytes, or where they go.
        case dissolvesRefused
        /// None: it decides no bytes.
        case nothing
    }

    /// A key of `[sync]`, what a change of it does, and, by format, two values that make a difference if any do.
    struct Row: Sendable, CustomTestStringConvertible {
        let key: String
        let word: Word
        let values: [(table: String, one: String, other: String)]
        var testDescription: String { key }

        init(_ key: String, _ word: Word, _ values: [(table: String, one: String, other: String)]) {
            self.key = "sync." + key
            self.word = word
            self.values = values
        }

        /// A key with one pair of values for every format that can be told it.
        init(_ key: String, _ word: Word, _ one: String, _ other: String, in tables: [String] = every) {
            self.init(key, word, tables.map { ($0, one, other) })
        }
    }

    static let beekon = "format = \"beekon\""
    static let template = "format = \"template\""
    static let overland = "format = \"overland\""
    static let owntracks = "format = \"owntracks\"\ndevice_id = \"van\""
    static let mqtt = owntracks + "\nurl = \"mqtt://127.0.0.1:1883\""
    static let osmand = "format = \"osmand\"\ndevice_id = \"van\""
    static let every = [beekon, template, overland, owntracks, mqtt, osmand]
    static let batching = [beekon, template, overland]
    private static let url = "url = \"http://127.0.0.1:9/\""

    static let rows: [Row] = [
        Row(
            "url", .dissolvesRefused, "\"http://127.0.0.1:9/\"", "\"http://127.0.0.1:9/a\"",
            in: [beekon, template, overland, owntracks, osmand]),
        Row(
            "format", .dissolvesAll,
            [("", "\"template\"", "\"overland\""), ("", "\"beekon\"", "\"overland\"")]),
        Row("device_id", .dissolvesAll, "\"van\"", "\"bus\"", in: [template, overland]),
        Row(
            "device_id", .dissolvesAll, "\"van\"", "\"bus\"",
            in: ["format = \"owntracks\"", "format = \"osmand\""]),
        Row("batch_size", .dissolvesRefused, "100", "50", in: batching),
        Row("username", .dissolvesRefused, "\"anna\"", "\"bert\"", in: [owntracks, mqtt]),
        Row("platform", .dissolvesRefused, "\"linux\"", "\"android\"", in: [beekon]),
        Row("params", .dissolvesRefused, "{ a = 1 }", "{ a = 2 }", in: [beekon, template]),
        Row("method", .dissolvesRefused, "\"POST\"", "\"PUT\"", in: [template]),
        Row("root_property", .dissolvesRefused, "\"location\"", "\"rows\"", in: [template]),
        Row("extras_in", .dissolvesRefused, "\"record\"", "\"none\"", in: [template]),
        Row(
            "location_template", .dissolvesRefused, "'[<%= latitude %>]'", "'[<%= longitude %>]'",
            in: [template]),
        Row("geofence_template", .dissolvesRefused, "'[1]'", "'[2]'", in: [template]),
        Row(
            "body", .dissolvesRefused,
            [
                (
                    template + "\nbatch_size = 1\nroot_property = \".\"\nlocation_template = '{\"a\":1}'",
                    "\"json\"", "\"form\""
                )
            ]),
        Row("unique_id", .dissolvesRefused, "\"location\"", "\"device\"", in: [overland]),
        Row("compress", .dissolvesRefused, "false", "true", in: [template]),
        Row("speed_unit", .dissolvesRefused, "\"knots\"", "\"mps\"", in: [osmand]),
        // Which rows the next batch holds, not how they are written.
        Row("order", .nothing, "\"oldest\"", "\"newest\"", in: batching),
        Row("deliver", .nothing, "\"all\"", "\"latest\""),
        Row("interval_seconds", .nothing, "60", "61"),
        Row("heartbeat_seconds", .nothing, "0", "60", in: [beekon, owntracks, mqtt]),
        Row("sync_threshold", .nothing, "0", "5"),
        Row("mode", .nothing, "\"auto\"", "\"manual\""),
        Row("on_motion_change", .nothing, "false", "true"),
        Row("geofence_retry", .nothing, "false", "true"),
        Row("metered", .nothing, "\"allow\"", "\"avoid\""),
        Row("metered_interfaces", .nothing, "[\"ppp*\"]", "[\"wwan*\"]"),
        Row("metered_max_wait_seconds", .nothing, "0", "5"),
        Row("timeout_seconds", .nothing, "60", "61"),
        Row("on_reject", .nothing, "\"drop\"", "\"keep\"", in: [overland, owntracks, mqtt, osmand]),
        Row("require_ack", .nothing, "false", "true", in: [beekon, template]),
        Row("accept_member", .nothing, "\"result\"", "\"state\"", in: batching),
        Row(
            "accept_value", .nothing,
            batching.map { ($0 + "\naccept_member = \"result\"", "\"ok\"", "\"yes\"") }),
        // Events that are owed go out as they are; none are owed from then on.
        Row("geofence_events", .nothing, "true", "false", in: [beekon, template, owntracks, mqtt]),
        Row("allow_insecure_http", .nothing, "false", "true"),
        Row(
            "proxy", .nothing, "\"http://127.0.0.1:3128\"", "\"http://127.0.0.1:3129\"",
            in: [beekon, template, overland, owntracks, osmand]),
        // What goes beside the bytes is made anew for each attempt: headers, credentials, certificates.
        Row(
            "headers", .nothing, "{ X = \"1\" }", "{ X = \"2\" }",
            in: [beekon, template, overland, owntracks, osmand]),
        Row("ca_file", .nothing, []), Row("client_certificate", .nothing, []),
        Row("client_key", .nothing, []),
        Row(
            "password", .nothing,
            [
                (owntracks + "\nusername = \"anna\"", "\"a\"", "\"b\""),
                (mqtt + "\nusername = \"anna\"", "\"a\"", "\"b\""),
            ]),
        Row("accept_unsubscribed", .nothing, "false", "true", in: [mqtt]),
        Row("keep_connection", .nothing, "false", "true", in: [mqtt]),
        Row("home_assistant", .nothing, "false", "true\nkeep_connection = true", in: [mqtt]),
        Row("mqtt_version", .nothing, "\"auto\"", "\"3.1.1\"", in: [mqtt]),
    ]

    /// Tables of which no key decides bytes: how tokens are got, and what answers may ask for.
    static let silentTables = ["sync.auth", "sync.commands."]

    @Test("every key of a destination has a word")
    func words() {
        let known = Set(Self.rows.map(\.key))
        for key in Key.all.map(\.name) where key.hasPrefix("sync.") {
            let isSilent = Self.silentTables.contains { key.hasPrefix($0) }
            #expect(
                isSilent || known.contains(key),
                """
                does \(key) decide the bytes of a batch? Say so in a row of DecisiveKeysTests.rows. If it does, it belongs in \
                `identity` of its format (Sources/DaemonConfiguration/Formats), in a way that adds nothing while it is not set
                """)
        }
    }

    @Test("every format stands in `every`")
    func formats() throws {
        #expect(try Set(Self.every.map { try sync($0).format.name }) == Set(Settings.Format.Name.allCases))
    }

    private func sync(_ text: String) throws -> Settings.Sync {
        let folder = try TemporaryDirectory()
        let text = text.contains("url = ") ? text : Self.url + "\n" + text
        try folder.write("beekond.toml", Array("[sync]\n\(text)\n".utf8))
        let loaded = try Loader.load(file: folder.file("beekond.toml"), isDefaultPath: false)
        return try #require(loaded.settings.sync)
    }

    /// A location, and the same with an event of a fence.
    private func drafts() throws -> [BatchDraft] {
        let workshop = try Workshop()
        let new = try workshop.location(1, speed: 10, extras: "{\"driver\":\"anna\"}")
        _ = try workshop.hub.store.insert(new)
        let first = try #require(try workshop.hub.store.draftBatch(limit: 1))
        let event = GeofenceEvent(
            id: new.location.id, session: new.session,
            crossing: Crossing(geofence: "home", kind: .enter, time: new.location.fix.time),
            coordinate: new.location.fix.coordinate, accuracy: 5)
        _ = try workshop.hub.store.insert(
            NewEvents(
                events: [event], changes: [], session: new.session, sessionStartedAt: start, isTracking: true,
                extras: new.extras, time: new.location.fix.time, prunesByAge: false))
        return [first, try #require(try workshop.hub.store.draftBatch(limit: 10))]
    }

    private func bytes(_ sync: Settings.Sync, _ drafts: [BatchDraft]) -> [StoredRequest?] {
        var maker = RequestMaker(installID: "i", model: nil, version: Daemon.version, sync)
        let batch = drafts.first?.locations.first?.id
        return drafts.map { draft in
            batch.flatMap { maker.request(for: draft, batch: $0, sentAt: start)?.stored }
        }
    }

    @Test("and it is true", arguments: rows)
    func truth(row: Row) throws {
        let drafts = try drafts()
        for (table, one, other) in row.values {
            let name = row.key.dropFirst("sync.".count)
            let (before, after) = try (
                sync("\(table)\n\(name) = \(one)"), sync("\(table)\n\(name) = \(other)")
            )
            let isAnew = before.fingerprint != after.fingerprint
            let isAllAnew = before.format.fingerprint != after.format.fingerprint
            let isOther = bytes(before, drafts) != bytes(after, drafts)
            switch row.word {
            case .dissolvesAll: #expect(isAllAnew, "\(row.key) = \(other) in \(table)")
            case .dissolvesRefused:
                #expect(isAnew && !isAllAnew, "\(row.key) = \(other) in \(table)")
                // Where they go, and how many there are.
                #expect(isOther || ["url", "batch_size"].contains(name), "\(row.key) in \(table)")
            case .nothing:
                #expect(!isAnew && !isAllAnew, "\(row.key) = \(other) in \(table)")
                #expect(!isOther, "\(row.key) decides bytes, in \(table): see the words of `words`")
            }
        }
    }

    // MARK: The vehicle

    private func vehicle(_ text: String) throws -> Settings.Vehicle {
        let folder = try TemporaryDirectory()
        try folder.write("beekond.toml", Array("[vehicle]\n\(text)\n".utf8))
        return try Loader.load(file: folder.file("beekond.toml"), isDefaultPath: false).settings.vehicle
    }

    @Test(
        "what the vehicle says of itself decides bytes where a format has a field for its odometer",
        arguments: every)
    func odometer(table: String) throws {
        let sync = try sync(table)
        let (silent, telling) = try (vehicle(""), vehicle("ignition = \"manual\""))
        #expect(!silent.tellsOdometer && telling.tellsOdometer)
        let workshop = try Workshop()
        var new = try workshop.location(1, speed: 10)
        new.location.mileage = 7000
        _ = try workshop.hub.store.insert(new)
        let draft = try #require(try workshop.hub.store.draftBatch(limit: 1))
        var maker = RequestMaker(installID: "i", model: nil, version: Daemon.version, sync)
        let bytes = [silent, telling].map { vehicle in
            maker.request(
                for: draft, batch: new.location.id, sentAt: start, tellsOdometer: vehicle.tellsOdometer)?
                .stored
        }
        #expect(bytes[0] != nil && (bytes[0] != bytes[1]) == sync.format.name.traits.hasOdometer)
        #expect(
            (sync.fingerprint(tellsOdometer: false) != sync.fingerprint(tellsOdometer: true))
                == sync.format.name.traits.hasOdometer)
    }

    @Test(
        "an upgrade to a version that knows of it makes nothing anew, a change does",
        arguments: [owntracks, osmand])
    func odometerAfterUpgrade(table: String) throws {
        let sync = try sync(table)
        for tells in [false, true] {
            let workshop = try Workshop()
            let store = workshop.hub.store
            _ = try store.adopt(endpoint: sync.fingerprint)
            let new = try workshop.location(1)
            _ = try store.insert(new)
            let draft = try #require(try store.draftBatch(limit: 1))
            let refused = try #require(
                try store.freeze(draft, id: new.location.id, StoredRequest(body: [1])))
            try store.markPermanent(refused)
            func adopt(_ tells: Bool) throws -> UUIDv7? {
                _ = try store.adopt(
                    endpoint: sync.fingerprint(tellsOdometer: tells), formerly: sync.fingerprint)
                return try store.nextFrozen()?.id
            }
            #expect(try adopt(tells) == refused.id, "the version before wrote the same for both")
            #expect(try adopt(tells) == refused.id)
            #expect(try adopt(!tells) == nil)
        }
    }

    // MARK: Upgrades

    @Test(
        "with settings that the version before knew, the number is what it was",
        arguments: [
            (beekon, "100 http://127.0.0.1:9/"),
            (beekon + "\nparams = { a = 1 }", "100 http://127.0.0.1:9/ beekon ,\"a\":1"),
            (overland, "100 http://127.0.0.1:9/ overland"),
            (owntracks, "1 http://127.0.0.1:9/ owntracks"), (mqtt, "1 mqtt://127.0.0.1:1883 owntracks"),
            (osmand, "1 http://127.0.0.1:9/ osmand knots"),
            (osmand + "\nspeed_unit = \"mps\"", "1 http://127.0.0.1:9/ osmand mps"),
        ])
    func upgrade(table: String, text: String) throws {
        #expect(try sync(table).fingerprint == text.fingerprint)
    }

    private static let schemas: [String] = {
        let tests = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined()
        let folder = tests + "/StorageTests/Schemas"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".db") }.sorted().map { folder + "/" + $0 }
    }()

    /// In each the first batch was refused for good, and the one behind it was not.
    @Test("of a released database an upgrade makes nothing anew but what was refused", arguments: schemas)
    func released(path: String) throws {
        let usual = try sync(Self.beekon)
        let other = try sync(Self.beekon + "\nplatform = \"android\"")
        for (sync, isAnew) in [(usual, false), (other, true)] {
            let directory = try TemporaryDirectory()
            try directory.write("beekon.db", [UInt8](try Data(contentsOf: URL(filePath: path))))
            let options = StoreOptions(durability: .normal, destinations: .main)
            let store = try Store(directory: directory.path, options: options)
            // What the version before would have noted, and what it refused.
            _ = try store.adopt(endpoint: "100 http://127.0.0.1:9/".fingerprint)
            let refused = try #require(try store.nextFrozen())
            try store.markPermanent(refused)
            let behind = try store.frozenBehind(refused)
            #expect(try store.adopt(endpoint: sync.fingerprint, format: sync.format.fingerprint) == 0)
            let next = try store.nextFrozen()
            #expect(next?.id == (isAnew ? behind?.id : refused.id))
            #expect(next?.request == (isAnew ? behind?.request : refused.request))
        }
    }
}
