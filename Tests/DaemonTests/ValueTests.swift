import ControlProtocol
import DaemonConfiguration
import Envelope
import Storage
import Testing
import Upload

@testable import Daemon

@Suite("settings in the words of each part")
struct ValueTests {
    private var sync: Settings.Sync {
        var sync = Settings.Sync()
        sync.url = "https://api.example.com/locations"
        return sync
    }

    @Test("the fingerprint of an endpoint is the same in every run and version")
    func golden() {
        // FNV-1a of "100 https://api.example.com/locations", 64 bits.
        #expect(sync.fingerprint == 4_975_219_176_124_568_845)
    }

    @Test("it differs whenever url or batch size do, and for nothing else")
    func fingerprint() {
        var changed = sync
        changed.batchSize = 50
        #expect(changed.fingerprint != sync.fingerprint)
        changed = sync
        changed.url += "/"
        #expect(changed.fingerprint != sync.fingerprint)
        changed = sync
        changed.intervalSeconds = 60
        changed.headers = [Settings.Field(name: "X", value: Secret("y"))]
        #expect(changed.fingerprint == sync.fingerprint)
    }

    @Test("and what else decides the bytes, for the formats that can be told it")
    func bytes() throws {
        var all: [Settings.Sync] = []
        func add(_ format: Settings.Format) {
            var sync = sync
            sync.format = format
            all.append(sync)
        }
        var beekon = Settings.Beekon()
        add(.beekon(beekon))
        beekon.params = try BodyFields(["a": .integer(1)])
        add(.beekon(beekon))
        beekon.params = try BodyFields(["a": .text("1")])
        add(.beekon(beekon))
        func shape(_ location: String, batchSize: Int = 100) throws -> TemplateShape {
            try TemplateShape(
                params: BodyFields(), batchSize: batchSize, location: Template(location, for: .location),
                geofence: Template("[2]", for: .geofence))
        }
        var template = Settings.Template(shape: try shape("[1]"))
        add(.template(template))
        template.method = .put
        add(.template(template))
        template.compress = true
        add(.template(template))
        template.shape = try shape("[1,1]")
        add(.template(template))
        let changes = Set(all.map(\.fingerprint))
        #expect(changes.count == all.count)
        // A batch that was answered, or not yet, is not made anew for any of these, and for another device it is.
        #expect(Set(all[..<3].map(\.format.fingerprint)) == [0])
        #expect(Set(all[3...].map(\.format.fingerprint)).count == 1)
        template.deviceID = "van"
        #expect(Settings.Format.template(template).fingerprint != all[3].format.fingerprint)
        #expect(!all[3].format.isOneRow && !sync.format.isOneRow)
        template.shape = try shape("[1]", batchSize: 1)
        add(.template(template))
        #expect(all.last?.format.isOneRow == true)
    }

    @Test("how requests are made")
    func options() {
        var sync = sync
        sync.timeoutSeconds = 7
        sync.caFile = "/ca"
        sync.clientCertificate = "/cert"
        sync.clientKey = "/key"
        sync.proxy = "http://proxy:3128"
        sync.headers = [
            Settings.Field(name: "X-Api-Key", value: Secret("a: b")),
            Settings.Field(name: "X-Empty", value: Secret("")),
        ]
        #expect(
            RequestFactory(sync, version: Daemon.version).options(
                for: BeekonFormat.request(body: []), authorization: nil)
                == HTTPOptions(
                    url: sync.url,
                    headers: [
                        "Content-Type: application/json", "Content-Encoding: gzip", "X-Api-Key: a: b",
                        "X-Empty;",
                    ],
                    userAgent: "beekond/" + Daemon.version, timeout: 7, caFile: "/ca",
                    clientCertificate: "/cert",
                    clientKey: "/key", proxy: "http://proxy:3128", identity: SessionIdentity(sync)))
    }

    @Test("how the store behaves")
    func store() {
        var settings = Settings()
        #expect(StoreOptions(settings) == StoreOptions(retention: 7 * 86_400, maxRows: 100_000))
        settings.store.retentionDays = 0.5
        settings.store.maxRows = 9
        settings.store.durability = .normal
        settings.store.keepUploaded = true
        settings.sync = sync
        #expect(
            StoreOptions(settings)
                == StoreOptions(
                    retention: 43_200, maxRows: 9, durability: .normal, keepsUploaded: true,
                    destinations: .main))
    }

    @Test(
        "every setting of the store reaches it",
        arguments: Key.all.map(\.name).filter { $0.hasPrefix("store.") })
    func everyStoreSetting(name: String) throws {
        let other: SettingValue =
            switch try #require(Key.named(name)?.key.defaultValue) {
            case .bool(let value): .bool(!value)
            case .integer(let value): .integer(value + 1)
            case .number(let value): .number(value + 1)
            case .string: .string("normal")
            case .list(let texts): .list(texts + ["x"])
            }
        let loaded = try Loader.load(
            file: "/nonexistent/beekond.toml", isDefaultPath: true, runtime: [name: other])
        #expect(StoreOptions(loaded.settings) != StoreOptions(Settings()), "see the end of Supervisor.swift")
    }

    @Test("how an attempt went, in the words of the control interface")
    func outcomes() {
        let outcomes: [(DrainOutcome, Bool, String)] = [
            (.drained, true, "drained"), (.drained, false, "nothing_pending"),
            (.transient(isNetwork: true, retryAfter: nil), true, "transient"), (.failed(.auth), true, "auth"),
            (.failed(.permanent), true, "permanent"), (.failed(.rejected), true, "rejected"),
        ]
        for (outcome, hadWork, word) in outcomes {
            #expect(SyncResult.Outcome(outcome, hadWork: hadWork, hasRefused: false).rawValue == word)
        }
        #expect(SyncResult.Outcome(.drained, hadWork: true, hasRefused: true) == .rejected)
        #expect(SyncResult.Outcome(.failed(.auth), hadWork: true, hasRefused: true) == .auth)
        #expect(SyncResult.Outcome.disabled.rawValue == "disabled")
    }

    @Test("deferred is said of what is pending, and of nothing that fails or is under way")
    func deferred() {
        var counts = DestinationCounts()
        var snapshot = UploaderSnapshot()
        (snapshot.isConfigured, snapshot.isDeferred) = (true, true)
        func status() -> Wire.SyncStatus {
            Wire.SyncStatus(snapshot, counts, isWaiting: counts.pending > 0, at: { _ in start })
        }
        func state() -> String { status().state.rawValue }
        #expect(state() == "idle")
        counts.pending = 3
        #expect(state() == "deferred")
        snapshot.failure = .auth
        #expect(state() == "failed")
        snapshot.isUploading = true
        #expect(state() == "uploading")
        (snapshot.lastError, snapshot.deferralWarning) = ("refused", "near the cap")
        #expect(status().lastError == "near the cap")
    }

    @Test("where everything is, with systemd and without")
    func places() {
        let usual = Daemon.Options { _ in nil }
        #expect(usual.stateDirectory == "/var/lib/beekond" && usual.socket == "/run/beekond/beekond.sock")
        let given = Daemon.Options { ["STATE_DIRECTORY": "/s", "RUNTIME_DIRECTORY": "/r"][$0] }
        #expect(given.stateDirectory == "/s" && given.socket == "/r/beekond.sock")
    }
}
