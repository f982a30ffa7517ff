import Base
import ControlProtocol
import ControlTool

/// A daemon on a good day, at 2026-06-15T12:34:10Z.
enum ScreenSamples {
    static let clock = LocalClock(now: Timestamp(milliseconds: 1_781_526_850_000), zone: .utc)

    static let location = Wire.Location(
        id: "0190d4e2", sessionId: "0190d4e0", timestamp: "2026-06-15T12:34:07.000Z", trigger: "interval",
        motion: "moving", isMock: false, latitude: 37.7749, longitude: -122.4194, accuracy: 5.2, speed: 2.5,
        bearing: 180, altitude: 14.3)

    static let source = Wire.SourceStatus(
        health: .ok, device: "/dev/ttyS1", mode: 3, satellitesUsed: 9, satellitesVisible: 14,
        timeSettled: true, fixes: 15_230, reconnects: 0, rollovers: 0, refusedTimes: 0)

    static let sync = Wire.SyncStatus(
        state: .pending, pending: 120, oldestPending: "2026-06-15T12:01:00.000Z",
        lastAttempt: "2026-06-15T12:22:10.000Z", lastSuccess: "2026-06-15T12:22:10.000Z", lastHttpStatus: 200,
        nextAttempt: "2026-06-15T12:36:10.000Z", uploaded: 1000, rejected: 0, retries: 3, bytesSent: 123_456)

    static let status = Wire.Status(
        version: "0.1.0", installId: "0189", state: .tracking,
        sessionId: "0190d4e0-1234-7000-8000-aabbccddeeff", sessionStartedAt: "2026-06-15T08:00:00.000Z",
        uptimeSeconds: 273_600, lastLocation: location, source: source,
        gate: .init(admitted: 412, tooSoon: 14_000, tooNear: 555, paused: 0, motion: "moving"),
        store: .init(
            degraded: false, locations: 1234, bytes: 1_234_567, waitingInMemory: 0, droppedUnsent: 0,
            refused: 0),
        sync: sync, auth: .init(state: "none", failures: 0), destinations: [], geofences: 2, degraded: [])

    /// A daemon with everything going wrong at once, and hostile texts.
    static var broken: Wire.Status {
        var status = status
        status.source.health = .noDevice
        status.source.device = "/dev/\u{1B}[31mevil\u{9B}2J" + String(repeating: "x", count: 500)
        status.sync.state = .failed
        status.sync.failure = "auth"
        status.sync.lastHttpStatus = 401
        status.sync.lastAttempt = "2026-06-15T12:33:40.000Z"
        status.sync.lastError = "HTTP 401 \u{1B}]0;x\u{7} " + String(repeating: "word ", count: 500)
        status.store.degraded = true
        status.store.lastError =
            "database or disk is full: make room on the disk that holds the state directory"
        status.store.droppedUnsent = 5
        status.auth = .init(
            state: "dead", reason: "rotation_interrupted", expiresAt: "2026-06-15T12:00:00.000Z", failures: 3)
        status.degraded = ["storage", "loss", "config", "clock", "source", "sync", "auth", "\u{1B}new"]
        return status
    }
}
