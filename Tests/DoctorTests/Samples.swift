@testable import ControlProtocol
@testable import Doctor

enum Samples {
    static let status = Wire.Status(
        version: "0.2.0", installId: "x", state: .tracking, uptimeSeconds: 100,
        source: .init(
            health: .ok, device: "/dev/ttyUSB0", mode: 3, satellitesUsed: 9, satellitesVisible: 12,
            timeSettled: true, fixes: 10, reconnects: 0, rollovers: 0, refusedTimes: 0),
        gate: .init(admitted: 1, tooSoon: 0, tooNear: 0, paused: 0, motion: "moving"),
        store: .init(
            degraded: false, locations: 5, bytes: 1000, waitingInMemory: 0, droppedUnsent: 0, refused: 0),
        sync: .init(
            state: .idle, pending: 0, lastAttempt: "2026-06-15T12:00:00.000Z", lastHttpStatus: 200,
            uploaded: 1,
            rejected: 0, retries: 0, bytesSent: 1),
        auth: .init(state: "valid", failures: 0), destinations: [], geofences: 0, degraded: [])

    /// A van on a good day, at 2026-06-15T12:34:10Z.
    static var good: Facts {
        var facts = Facts()
        facts.user = .init(name: "anna", isRoot: false, groups: ["beekon-admin"])
        facts.status = status
        facts.configuration = "/etc/beekond/beekond.toml"
        facts.file = .good(warnings: [])
        facts.gpsd.contact = .answered("3.22")
        facts.gpsd.devices = ["/dev/ttyUSB0"]
        facts.device = DeviceFile(
            path: "/dev/ttyUSB0", exists: true, looksLikeModem: true, isIgnored: true, group: "dialout")
        facts.hasModemManager = true
        facts.clock = .init(isSynchronised: true, hasRTC: true, service: "chronyd", hasReferenceClock: false)
        facts.stateDirectory = "/var/lib/beekond"
        facts.disk = .init(freeBytes: 5_000_000_000, freeFiles: 10_000, isReadOnly: false)
        var backend = BackendFacts()
        backend.url = "https://api.example.com/locations"
        backend.host = "api.example.com"
        backend.answer = .status(200)
        facts.backend = backend
        facts.now = 1_781_526_850
        return facts
    }
}

enum Cases {
    static let all = daemon + receiver + machine + backend + heartbeats

    private static let daemon: [Case] = [
        Case("beekond", .failed, "systemctl start beekond") {
            $0.status = nil
            ($0.gpsd.mode, $0.gpsd.used) = (3, 8)
            $0.connection = .init(
                kind: .unreachable, message: "beekond is not running: systemctl start beekond")
        },
        Case("rights", .failed, "usermod -aG beekon anna") {
            $0.status = nil
            $0.user.groups = []
            $0.connection = .init(kind: .permissionDenied, message: "")
            ($0.gpsd.mode, $0.gpsd.used) = (3, 8)
        },
        Case("rights", .ok, "need group beekon-admin") { $0.user.groups = ["beekon"] },
        Case("rights", .failed, "usermod -aG beekon anna") {
            $0.user.groups = ["beekon-admin"]
            $0.status = nil
            $0.connection = ClientFailure.connecting(to: "/run/s", code: 13)
            ($0.gpsd.mode, $0.gpsd.used) = (3, 8)
        },
        Case("rights", .ok, "root") { $0.user.isRoot = true },
        Case("configuration", .failed, "line 3 (and 1 more)") { $0.file = .broken(["line 3", "line 4"]) },
        Case("configuration", .failed, "everything that was configured") { $0.status?.degraded = ["config"] },
        Case("configuration", .failed, "clamped") { $0.file = .good(warnings: ["clamped"]) },
        Case("configuration", .skipped, "may not be read by anna") { $0.file = .unreadable },
        Case("configuration", .skipped, "--config") { $0.file = .elsewhere },
        Case("configuration", .ok, "default") { $0.file = .missing },
    ]

    private static let heartbeats: [Case] = [
        Case("heartbeat", .ok, "every 1 h 00 min: none yet") {
            $0.status?.sync.heartbeat = .init(intervalSeconds: 3600)
        },
        Case("heartbeat", .failed, "sync.heartbeat_seconds to 0") {
            $0.status?.sync.heartbeat = .init(
                intervalSeconds: 3600, pausedUntil: "2026-06-16T12:00:00.000Z", refusedStatus: 400)
        },
    ]

    private static let receiver: [Case] = [
        Case("gpsd", .failed, "gpsd.socket") { $0.gpsd.contact = .failed("Connection refused") },
        Case("gpsd", .failed, "does not talk like gpsd") { $0.gpsd.contact = .silent },
        Case("receiver", .failed, "plug the receiver in") { $0.device?.exists = false },
        Case("receiver", .failed, "dialout") { $0.device?.group = nil },
        Case("receiver", .failed, "gpsd does not have it") {
            $0.settings["gpsd.device"] = .string("/dev/ttyS9")
        },
        Case("receiver", .ok, "/dev/ttyUSB0") { $0.settings["gpsd.device"] = .string("/dev/ttyUSB0") },
        Case("receiver", .failed, "DEVICES") {
            $0.gpsd.devices = []
            $0.device = nil
            $0.status?.source.device = nil
        },
        Case("ModemManager", .failed, "ID_MM_DEVICE_IGNORE") { $0.device?.isIgnored = false },
        Case("ModemManager", .ok, "does not run") { $0.hasModemManager = false },
        Case("ModemManager", .skipped, "cannot be seen") { $0.hasModemManager = nil },
        Case("ModemManager", .ok, "no port") { $0.device?.looksLikeModem = false },
        Case("fix", .failed, "clear view") {
            $0.status?.source.mode = 1
            $0.status?.source.health = .noFix
        },
        Case("fix", .failed, "plug it in again") { $0.status?.source.health = .stale },
        Case("fix", .ok, "no altitude") { $0.status?.source.mode = 2 },
        Case("fix", .ok, "three") {
            // beekond has let go of gpsd, so the doctor listened itself.
            $0.status?.source.health = .released
            ($0.gpsd.mode, $0.gpsd.used) = (3, 8)
        },
        Case("fix", .failed, "gpsmon") {
            $0.status?.source.health = .released
            $0.gpsd.mode = nil
        },
        Case("satellites", .failed, "antenna") { $0.status?.source.satellitesUsed = 3 },
        Case("satellites", .skipped, "does not tell") {
            $0.status?.source.satellitesUsed = nil
            $0.gpsd.used = nil
        },
        Case("receiver time", .failed, "gpsmon") { $0.status?.source.timeSettled = false },
        Case("receiver time", .ok, "2 times corrected") { $0.status?.source.rollovers = 2 },
        Case("receiver time", .skipped, "not listening") {
            $0.status?.source.health = .released
            ($0.gpsd.mode, $0.gpsd.used) = (3, 8)
        },
    ]

    private static let machine: [Case] = [
        Case("system clock", .failed, "chronyc") { $0.clock.isSynchronised = false },
        Case("system clock", .failed, "timedatectl") {
            $0.clock.isSynchronised = false
            $0.clock.service = "systemd-timesyncd"
        },
        Case("system clock", .failed, "refclock SHM 0 refid GPS") {
            $0.clock.isSynchronised = false
            $0.clock.service = nil
        },
        Case("clock at boot", .failed, "refclock SHM 0 refid GPS") {
            $0.clock.hasRTC = false
            $0.clock.service = nil
        },
        Case("clock at boot", .skipped, "refclock") { $0.clock.hasRTC = false },
        Case("clock at boot", .ok, "reference clock") {
            $0.clock.hasRTC = false
            $0.clock.hasReferenceClock = true
        },
        Case("storage", .failed, "make room") {
            $0.status?.store.degraded = true
            $0.status?.store.lastError = "disk full: make room on it"
        },
        Case("storage", .failed, "store.max_rows") {
            $0.status?.store.droppedUnsent = 5
            $0.status?.degraded = ["loss"]
        },
        Case("storage", .ok, "5 locations") { $0.status?.store.droppedUnsent = 5 },
        Case("disk space", .failed, "only 10.0 MB") { $0.disk?.freeBytes = 10_000_000 },
        Case("disk space", .failed, "df -i") { $0.disk?.freeFiles = 0 },
        Case("disk space", .skipped, "there is no") { $0.disk = nil },
    ]

    private static let backend: [Case] = [
        Case("backend", .skipped, "nothing is ever sent") { $0.backend = nil },
        Case("DNS", .failed, "resolv.conf") { $0.backend?.nameFailure = "Name or service not known" },
        Case("DNS", .ok, "the proxy") { $0.backend?.isProxy = true },
        Case("TCP", .failed, "ip route") { $0.backend?.connectFailure = "Connection refused" },
        Case("TLS", .failed, "sync.ca_file") {
            $0.backend?.answer = .failed("SSL peer certificate was not OK", isClock: false)
        },
        Case("TLS", .failed, "set the clock") {
            $0.backend?.answer = .failed("not yet valid", isClock: true)
        },
        Case("TLS", .skipped, "http") { $0.backend?.isTLS = false },
        Case("endpoint", .failed, "unpacks gzip twice") {
            $0.backend?.answer = .status(400)
            $0.status?.sync.lastSuccess = nil
        },
        Case("endpoint", .failed, "or only empty ones") {
            $0.backend?.answer = .status(422)
            $0.status?.sync.lastSuccess = nil
        },
        Case("endpoint", .ok, "only refuses empty batches") {
            $0.backend?.answer = .status(422)
            $0.status?.sync.lastSuccess = "2026-06-15T12:00:00.000Z"
        },
        // Another server's success says nothing of this one.
        Case("endpoint", .failed, "or only empty ones") {
            $0.backend?.answer = .status(422)
            $0.status?.sync.lastSuccess = "2026-06-15T12:00:00.000Z"
            $0.status?.sync.lastSuccessElsewhere = true
        },
        Case("endpoint", .failed, "answers 404 to an empty batch (no such tenant)") {
            $0.backend?.answer = .status(404)
            $0.backend?.reason = "no such tenant"
        },
        Case(
            "dead letters", .failed,
            "7 rejected locations are kept, the newest from 1 h 00 min ago (422: no plate)"
        ) {
            $0.status?.sync.rejected = 7
            $0.status?.sync.rejection = .init(
                rejectedAt: "2026-06-15T11:34:10.000Z", httpStatus: 422, reason: "no plate")
        },
        Case("dead letters", .ok, "7 rejected locations are kept, the newest from 2 d 0 h ago (no answer)") {
            $0.status?.sync.rejected = 7
            $0.status?.sync.rejection = .init(rejectedAt: "2026-06-13T12:34:10.000Z", httpStatus: 0)
        },
        Case("endpoint", .failed, "[sync.headers]") { $0.backend?.answer = .status(401) },
        Case("endpoint", .failed, "[sync.headers]") { $0.backend?.answer = .status(403) },
        Case("endpoint", .skipped, "without a token") {
            $0.backend?.answer = .status(401)
            $0.backend?.hasToken = true
        },
        Case("endpoint", .failed, "correct sync.url") { $0.backend?.answer = .status(404) },
        Case("endpoint", .failed, "captive portal") { $0.backend?.answer = .page(200) },
        Case("endpoint", .failed, "sync.require_ack") { $0.backend?.answer = .noAck(200) },
        Case("endpoint", .failed, "display_errors") { $0.backend?.answer = .phpError(200) },
        Case("endpoint", .failed, "sync.accept_member") { $0.backend?.answer = .refused(200) },
        Case("endpoint", .failed, "sync.accept_member") { $0.backend?.answer = .unread(200) },
        Case("endpoint", .skipped, "accept_member = \"result\"") { $0.backend?.answer = .silent(200) },
        Case("unique_id", .skipped, "sync.unique_id = \"device\"") { $0.backend?.hasOldUniqueID = true },
        Case("endpoint", .failed, "redirects") { $0.backend?.answer = .status(301) },
        Case("endpoint", .failed, "tries again by itself") { $0.backend?.answer = .status(503) },
        Case("endpoint", .failed, "will not change") { $0.backend?.answer = .status(413) },
        Case("endpoint", .failed, "no answer") { $0.backend?.answer = .failed("Timeout", isClock: false) },
        Case("endpoint", .skipped, "last answered beekond 200, 34 min ago") { $0.backend?.answer = nil },
        Case("endpoint", .failed, "last answered beekond 401") {
            $0.backend?.answer = nil
            $0.status?.sync.state = .failed
            $0.status?.sync.lastHttpStatus = 401
        },
        Case("token", .failed, "auth seed") {
            $0.status?.auth = .init(state: "dead", reason: "key", failures: 1)
        },
        Case("token", .failed, "refresh_url") { $0.status?.auth = .init(state: "breaker_open", failures: 3) },
        Case("token", .skipped, "static") { $0.status?.auth = .init(state: "none", failures: 0) },
        Case("backlog", .failed, "beekonctl sync") {
            $0.status?.sync.pending = 7
            $0.status?.sync.oldestPending = "2026-06-15T11:00:00.000Z"
        },
        Case("backlog", .ok, "7 pending") {
            $0.status?.sync.pending = 7
            $0.status?.sync.oldestPending = "2026-06-15T11:00:00.000Z"
            $0.settings["sync.interval_seconds"] = .integer(7200)
        },
    ]
}
