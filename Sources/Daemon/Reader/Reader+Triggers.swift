internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// What happens to the vehicle makes destinations upload.
extension Reader {
    /// Tells them, after COMMIT, what the rows may be a reason for.
    func trigger(after result: Recorder.Result) {
        // A stay is an event of its geofence; the others of the vehicle wait for what comes next.
        let hasStays =
            settings.vehicle.events.contains(.dwell)
            && result.vehicleEvents.contains { $0.happening == .dwell }
        guard !result.stored.isEmpty || !result.events.isEmpty || hasStays else { return }
        // Before they are woken: they look at it.
        if !result.stored.isEmpty { hub.board.publish(newest: recorder.newest) }
        let hasTurned = result.stored.contains { $0.trigger == .motion }
        let standsWithIgnitionOff = vehicle?.hasLastPlace(in: result.stored) ?? false
        for (port, sync) in uploadersThatListen {
            if isOverThreshold(port.name, sync, result) { port.deliver(.trigger(.threshold)) }
            if hasTurned, sync.triggers.onMotionChange || sync.isLatestOnly {
                port.deliver(.trigger(.motion))
            }
            if standsWithIgnitionOff { port.deliver(.trigger(.ignitionOff)) }
            if !result.events.isEmpty || hasStays { port.deliver(.trigger(.geofence)) }
            if sync.isLatestOnly, !result.stored.isEmpty { port.noteNewLocation() }
        }
    }

    /// A session has stopped.
    func triggerAtStop() {
        let counts = hub.store.counts()
        for (port, sync) in uploadersThatListen
        where sync.isLatestOnly || counts[port.name]?.pending ?? 0 > 0 {
            port.deliver(.trigger(.sessionStopped))
        }
    }

    /// Those that do not leave it to the user when to upload.
    var uploadersThatListen: [(port: UploaderPort, sync: Settings.Sync)] {
        settings.allDestinations.compactMap { destination in
            guard destination.sync.triggers.mode == .auto, let name = DestinationName(destination.name),
                let port = hub.uploaders[name]
            else { return nil }
            return (port, destination.sync)
        }
    }

    private func isOverThreshold(
        _ name: DestinationName, _ sync: Settings.Sync, _ result: Recorder.Result
    ) -> Bool {
        guard sync.syncThreshold > 0, let pendingOfMain = result.pending else { return false }
        let pending = name == .main ? pendingOfMain : hub.store.counts()[name]?.pending ?? 0
        return pending >= sync.syncThreshold
    }

    /// The user has deleted locations: none of them may go out from memory, to whichever destination.
    ///
    /// - Parameter cutoff: what is deleted; nil: everything.
    func withdraw(upTo cutoff: Timestamp?) {
        if recorder.newest == nil { hub.board.publish(newest: nil) }
        hub.post(toUploaders: .erased(upTo: cutoff))
    }
}
