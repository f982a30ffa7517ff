import ControlProtocol

/// One value of every type with every optional set, and one with none.
enum Samples {
    static let time = "2026-06-15T12:34:10.000Z"
    static let location = Wire.Location(
        id: "0190", sessionId: "0191", timestamp: time, trigger: "interval", motion: "moving", isMock: false,
        latitude: 37.7749, longitude: -122.4194, accuracy: 5.2, speed: 2.5, bearing: 180, altitude: 14.3,
        activity: "automotive", quality: "low_accuracy", ignition: true)
    static let bareLocation = Wire.Location(
        id: "0190", timestamp: time, trigger: "interval", motion: "unknown", isMock: true, latitude: 0,
        longitude: 0)
    static let geofence = Wire.Geofence(
        id: "home", latitude: 1.5, longitude: 2.5, radiusMeters: 100,
        polygon: [[1, 2], [3, 2], [2, 4]], notifyOnEntry: true,
        notifyOnExit: false, dwellSeconds: 900, inside: true)
    static let vehicleEvent = Wire.VehicleEvent(
        id: "1", sessionId: "2", kind: "dwell", type: "dwell", subject: "home", timestamp: time,
        timeEstimated: true, latitude: 1.5, longitude: 2.5, accuracy: 3.5,
        data: .object(["dwell_seconds": .integer(900)]))
    static let geofenceEvent = Wire.GeofenceEvent(
        id: "1", sessionId: "2", geofenceId: "home", type: "exit", timestamp: time, reason: "removed")
    static let session = Wire.Session(
        id: "0191", startedAt: time, stoppedAt: time, locations: 12, distanceMeters: 345.5)
    static let source = Wire.SourceStatus(
        health: .noFix, device: "/dev/ttyS1", mode: 3, satellitesUsed: 9, satellitesVisible: 14,
        timeSettled: true, fixes: 1, reconnects: 2, rollovers: 3, refusedTimes: 4,
        refusedTime: time, refusedClock: time, repeated: 5)
    static let gate = Wire.GateStatus(
        admitted: 1, tooSoon: 2, tooNear: 3, paused: 4, motion: "moving", unsettled: 5, notTracked: 6)
    static let store = Wire.StoreStatus(
        degraded: true, locations: 1, events: 8, untimedEvents: 9, bytes: 2, waitingInMemory: 3,
        droppedUnsent: 4, refused: 5,
        pruned: 6, expired: 7, lastError: "disk full", directory: "/data/beekond")
    static let sync = Wire.SyncStatus(
        state: .failed, failure: "auth", pending: 1, oldestPending: time, inFlightBatch: "b",
        lastAttempt: time, lastSuccess: time, lastHttpStatus: 401, lastMqttCode: 135,
        lastError: "refused", nextAttempt: time,
        uploaded: 2, rejected: 3, retries: 4, bytesSent: 5, oversizedFailures: 3, unmatchedAnswers: 4,
        commands: 1, results: 2,
        refusedCommands: 3,
        heartbeat: .init(
            intervalSeconds: 3600, last: time, next: time, pausedUntil: time, refusedStatus: 400,
            refusedReason: "no rows"),
        lastReason: "no such tenant", lastSuccessElsewhere: true, rejection: rejection,
        homeAssistant: "no such topic")
    static let rejection = Wire.Rejection(rejectedAt: time, httpStatus: 422, reason: "no plate")
    static let auth = Wire.AuthStatus(
        state: "dead", reason: "key", expiresAt: time, lastRefresh: time, failures: 3)
    static let destination = Wire.Destination(
        name: "main", format: "beekon", deliver: "all", orphaned: false, dropped: 0, pruned: 1, sync: sync,
        auth: auth, adoptedRevision: 2)
    static let vehicle = Wire.VehicleStatus(
        source: "gpio", ignition: "unknown", externalPower: true, error: "no such line")
    static let status = Wire.Status(
        version: "0.1.0", installId: "0189", state: .tracking, reason: "resumed", stopReason: "user",
        decidedBy: "server", sessionId: "0191",
        sessionStartedAt: time, uptimeSeconds: 5, lastLocation: location, odometerMeters: 1234,
        source: source,
        gate: gate,
        store: store, sync: sync, auth: auth,
        destinations: [destination], geofences: 2, vehicle: vehicle, degraded: ["sync", "clock"],
        damagedFiles: ["beekon.db.corrupt-1"], revision: 3, adoptedRevision: 3)
    static let place = Wire.Place(latitude: 52.5, longitude: 13.25)
    static let trip = Wire.Trip(
        startedAt: time, endedAt: time, start: place, end: place, distanceMeters: 12.5, durationSeconds: 60,
        topSpeed: 25, idleSeconds: 5)
    static let counters = Wire.Counters(
        unsettled: 1, notTracked: 2, refused: 3,
        requests: [.init(destination: "main", code: "200", count: 4)],
        commits: .init(bounds: [0.001, 10], counts: [5, 6, 7], seconds: 0.5))
    static let httpRequest = Wire.HttpRequest(
        batch: "b", attempt: 2, status: 200, milliseconds: 35, bytes: 1200, outcome: "accepted", body: "{}",
        reason: "none")
    static let rejected = Wire.Rejected(
        location: location, geofenceEvent: geofenceEvent, vehicleEvent: vehicleEvent, batchId: "b",
        httpStatus: 422, rejectedAt: time, reason: "no plate")
    static let command = Wire.ServerCommand(
        id: "c-17", command: "locate", origin: "main", batch: "b", state: "done", receivedAt: time,
        doneAt: time, ok: false, error: "no fix", result: .object([:]), delivered: true)
    static let setting = Wire.Setting(
        key: "sync.url", value: .string("(set)"), origin: "default", overridesServer: true)
    static let event = Wire.Event(
        kind: "location", missed: 3, location: location, geofenceEvent: geofenceEvent,
        vehicleEvent: vehicleEvent, state: .stopped,
        reason: "user", sessionId: "0191", source: source, sync: sync, auth: auth,
        http: httpRequest, command: command, destination: "main", stopReason: "user", decidedBy: "person")
}
