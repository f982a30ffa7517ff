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
        let hasTurned = result.stored.contains { $0.trigger == .motion }
        let standsWithIgnitionOff = vehicle?.hasLastPlace(in: result.stored) ?? false
        for (port, sync) in uploadersThatListen {
            if isOverThreshold(port.name, sync, result) { outbox.deliver(.trigger(.threshold), to: port) }
            if hasTurned, sync.triggers.onMotionChange || sync.isLatestOnly {
                outbox.deliver(.trigger(.motion), to: port)
            }
            if standsWithIgnitionOff { outbox.deliver(.trigger(.ignitionOff), to: port) }
            if !result.events.isEmpty || hasStays { outbox.deliver(.trigger(.geofence), to: port) }
            if sync.isLatestOnly, !result.stored.isEmpty { outbox.noteNewLocation(to: port) }
        }
    }

    /// A session has stopped.
    func triggerAtStop() {
        let counts = hub.store.counts()
        for (port, sync) in uploadersThatListen
        where sync.isLatestOnly || counts[port.name]?.pending ?? 0 > 0 {
            outbox.deliver(.trigger(.sessionStopped), to: port)
        }
    }

    /// Uploaders that do not leave it to the user when to upload.
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
        outbox.deliver(toUploaders: .erased(upTo: cutoff))
    }
}
