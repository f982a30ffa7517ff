internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// The state of the daemon in the terms of the control interface: the answer of GetStatus, and the events of changes.
struct StatusReport {
    let hub: Hub
    let configurator: Configurator
    /// Where the database is.
    let directory: StateDirectory
    let installID: String
    let startedAt: BootInstant

    func status(now: BootInstant) -> Wire.Status {
        let reader = hub.board.readerSnapshot
        let uploader = hub.uploaders.main.snapshot
        let counts = hub.store.counts()
        let storageError = reader.storageError ?? uploader.storageError
        let damagedFiles = damagedFiles()
        return Wire.Status(
            version: Release.version, installId: installID, state: Wire.State(reader.state),
            reason: reader.change.stopReason?.rawValue,
            stopReason: reader.change.stopReason?.rawValue, decidedBy: reader.change.decidedBy?.rawValue,
            sessionId: reader.session?.description,
            sessionStartedAt: reader.sessionStartedAt?.iso8601,
            uptimeSeconds: Int(now.seconds(since: startedAt)),
            lastLocation: reader.lastLocation.map { Wire.Location($0) },
            odometerMeters: reader.odometer.map { Int(clamping: $0) }, source: Wire.SourceStatus(reader),
            gate: Wire.GateStatus(
                admitted: reader.fixes.admitted, tooSoon: reader.fixes.dropped.tooSoon,
                tooNear: reader.fixes.dropped.tooNear, paused: reader.fixes.dropped.paused,
                motion: reader.motion.rawValue, unsettled: reader.fixes.unsettled,
                notTracked: reader.fixes.untracked),
            store: Wire.StoreStatus(
                degraded: storageError != nil, locations: counts.locations, events: counts.events,
                untimedEvents: counts.untimedEvents > 0 ? counts.untimedEvents : nil, bytes: databaseSize(),
                waitingInMemory: reader.waitingInMemory, droppedUnsent: counts.losses.dropped,
                refused: reader.refused, pruned: counts.losses.pruned, expired: counts.losses.expired,
                lastError: storageError, directory: directory.path),
            sync: syncStatus(of: .main, counts, now: now), auth: Wire.AuthStatus(uploader.auth),
            destinations: destinations(counts, now: now),
            geofences: reader.geofences,
            vehicle: reader.vehicle.map { Wire.VehicleStatus($0) },
            degraded: Self.degraded(
                reader, uploader, hasDamagedFiles: !damagedFiles.isEmpty,
                isConfigurationDegraded: configurator.isDegraded, now: now),
            damagedFiles: damagedFiles.isEmpty ? nil : damagedFiles, revision: configurator.revision,
            adoptedRevision: reader.revision)
    }

    private func damagedFiles() -> [String] {
        hub.board.damagedFiles.union(DatabaseFiles(in: directory.path, on: directory.files).unsavedNames)
            .sorted()
    }

    /// What the status does not say.
    func counters() -> Wire.Counters {
        let fixes = hub.board.readerSnapshot.fixes
        let commits = hub.store.commits.snapshot()
        return Wire.Counters(
            unsettled: fixes.unsettled, notTracked: fixes.untracked, refused: fixes.refused,
            requests: hub.uploaders.all.flatMap { port in
                port.requests.counts.map {
                    Wire.RequestCount(destination: port.name.text, code: $0.code, count: $0.count)
                }
            },
            commits: Wire.CommitTimes(
                bounds: CommitTimes.bounds, counts: commits.counts, seconds: commits.seconds))
    }

    /// What is wrong, in a word each. Pure.
    static func degraded(
        _ reader: ReaderSnapshot, _ uploader: UploaderSnapshot, hasDamagedFiles: Bool,
        isConfigurationDegraded: Bool, now: BootInstant
    ) -> [String] {
        let isSourceBad =
            switch reader.health {
            case .disconnected, .noDevice, .noFix, .stale: reader.state == .tracking
            case .released, .unsettled, .ok: false
            }
        let isLosing = reader.lostAt.map { now.seconds(since: $0) < LossWatch.interval } ?? false
        let words: [(String, Bool)] = [
            ("storage", (reader.storageError ?? uploader.storageError) != nil),
            ("loss", isLosing), ("files", hasDamagedFiles), ("config", isConfigurationDegraded),
            ("clock", uploader.isClockSuspected), ("source", isSourceBad || reader.refusal != nil),
            ("vehicle", reader.vehicle?.trouble != nil),
            (
                "sync",
                uploader.deferralWarning != nil || uploader.lastError != nil && uploader.failure != .auth
            ),
            ("auth", uploader.failure == .auth || [.dead, .breakerOpen].contains(uploader.auth.word)),
        ]
        return words.filter(\.1).map(\.0)
    }

    private func databaseSize() -> Int {
        ["", "-wal", "-shm"].reduce(0) {
            $0 + ((try? directory.files.size(directory.file("beekon.db" + $1))) ?? 0)
        }
    }

    private func syncStatus(
        of name: DestinationName, _ counts: StoreCounts, now: BootInstant
    ) -> Wire.SyncStatus {
        let snapshot = hub.uploaders[name]?.snapshot ?? UploaderSnapshot()
        let own = counts[name] ?? DestinationCounts()
        // An attempt is due only while there is a newer location than the server has.
        let isLatestOnly = configurator.loaded.settings.sync(of: name.text)?.isLatestOnly == true
        return Wire.SyncStatus(
            snapshot, own, commands: counts.commands[name],
            refusedCommands: hub.uploaders[name]?.requests.refusedCommands ?? 0,
            isWaiting: isLatestOnly ? snapshot.nextAttempt != nil : own.pending > 0,
            at: { hub.clock.time(now: now).advanced(bySeconds: max($0.seconds(since: now), 0)) })
    }

    /// Destinations that are configured, and those that are still to be sent something.
    private func destinations(_ counts: StoreCounts, now: BootInstant) -> [Wire.Destination] {
        let settings = configurator.loaded.settings
        let names = Set(
            [DestinationName.main] + settings.destinations.compactMap { DestinationName($0.name) })
        return names.union(counts.others.keys).sorted().map { name in
            let sync = settings.sync(of: name.text)
            let own = counts[name] ?? DestinationCounts()
            return Wire.Destination(
                name: name.text, format: sync?.format.name.rawValue, deliver: sync?.deliver.rawValue,
                orphaned: own.isOrphaned, dropped: own.losses.dropped, pruned: own.losses.pruned,
                sync: syncStatus(of: name, counts, now: now),
                auth: Wire.AuthStatus(hub.uploaders[name]?.snapshot.auth ?? AuthState()),
                adoptedRevision: hub.uploaders[name]?.snapshot.revision)
        }
    }

    // MARK: Events

    /// How things stand, for a new subscriber.
    func present(now: BootInstant) -> [Wire.Event] {
        let reader = hub.board.readerSnapshot
        return [Wire.Event(reader.change), sourceEvent()]
            + hub.uploaders.all.flatMap { [syncEvent(of: $0.name, now: now), authEvent(of: $0.name)] }
            + (reader.lastLocation.map { [Wire.Event($0)] } ?? [])
    }

    func sourceEvent() -> Wire.Event {
        Wire.Event(kind: "source", source: Wire.SourceStatus(hub.board.readerSnapshot))
    }

    func syncEvent(of name: DestinationName, now: BootInstant) -> Wire.Event {
        Wire.Event(
            kind: "sync", sync: syncStatus(of: name, hub.store.counts(), now: now), destination: name.text)
    }

    func authEvent(of name: DestinationName) -> Wire.Event {
        Wire.Event(
            kind: "auth", auth: Wire.AuthStatus(hub.uploaders[name]?.snapshot.auth ?? AuthState()),
            destination: name.text)
    }
}
