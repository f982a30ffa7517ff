internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// What the ignition and external power lead to.
extension Reader {
    /// Takes up what was last known of them.
    func resumeVehicle(now: BootInstant) {
        vehicle = IgnitionKeeper(
            hub: hub, settings: settings.vehicle, boot: events.boot, root: Machine.root)
        guard let vehicle else { return }
        let latest = recorder.latest?.fix
        let found = vehicle.resume(lastStored: latest?.time, tracking: ignitionsTracking, now: now) { kind in
            // What the store cannot say now is told twice at the worst.
            (try? hub.store.latestEvent(of: kind)) ?? nil
        }
        let place = latest.map { VehicleEvent.Place($0.coordinate, accuracy: $0.accuracy) }
        for consequence in found { follow(consequence, place: place, now: now) }
        keepVehicle(now: now)
    }

    /// Reads the levels, and does what follows from them.
    func followVehicle(now: BootInstant) {
        guard let vehicle else { return }
        let found = vehicle.run(
            now: now, monotonic: Clock.monotonic(), anchor: events.anchor(now: now),
            tracking: ignitionsTracking)
        follow(found, now: now)
        keepVehicle(now: now)
    }

    /// Somebody says whether the ignition is on. Durable when it returns.
    func setIgnition(_ isOn: Bool, now: BootInstant) throws(CommandFailure) {
        guard let vehicle else { return try IgnitionKeeper.check(settings.vehicle) }
        let found = try vehicle.set(
            isOn, now: now, anchor: events.anchor(now: now), tracking: ignitionsTracking)
        follow(found, now: now)
        try vehicle.keep(isAsked: true, now: now)
    }

    /// Other settings: another source begins anew.
    func configureVehicle(now: BootInstant) {
        if let vehicle, vehicle.configure(settings.vehicle) { return }
        guard vehicle != nil || settings.vehicle.hasLevels else { return }
        resumeVehicle(now: now)
    }

    private func keepVehicle(now: BootInstant) {
        do {
            try vehicle?.keep(now: now)
        } catch {
            Log.error(.storageFailed, "\(error.reason); trying again in 10 s")
        }
    }

    private var ignitionsTracking: Ignition.Tracking {
        sessions.session == nil ? .off : .on(by: sessions.wish?.origin ?? .person)
    }

    private func follow(_ found: [IgnitionKeeper.Consequence], now: BootInstant) {
        for consequence in found {
            follow(consequence, now: now)
            if case .ignition(.record(let isOn, _)) = consequence { noteIgnition(isOn: isOn, now: now) }
        }
    }

    private func follow(
        _ consequence: IgnitionKeeper.Consequence, place: VehicleEvent.Place? = nil, now: BootInstant
    ) {
        switch consequence {
        case .ignition(.record(let isOn, let time)):
            let event = record(isOn ? .ignitionOn : .ignitionOff, at: time, place: place, now: now)
            vehicle?.note(event, of: .ignition)
            if isOn { vehicle?.forgetLastPlace() }
        case .ignition(.start): wishAsIgnition(tracks: true, now: now)
        case .ignition(.stop): wishAsIgnition(tracks: false, now: now)
        case .ignition(.admitNextFix): pipeline.admitNextFix()
        case .ignition(.upload):
            triggerAtIgnitionOff()
            if sessions.session != nil { vehicle?.expectLastPlace(now: now) }
        case .power(let event, let supply):
            let event = record(
                event.isBack ? .powerBack : .powerLost, subject: supply, at: event.time, now: now)
            vehicle?.note(event, of: .power)
        }
    }

    private func wishAsIgnition(tracks: Bool, now: BootInstant) {
        do {
            try take(wish(tracks: tracks, of: .ignition, now: now), now: now)
        } catch {
            Log.error(
                .storageFailed,
                "tracking does not follow the ignition yet, trying again in 10 s: \(error.reason)")
            vehicle?.postpone(start: tracks, now: now)
        }
    }

    /// Uploads at ignition off, which may be the last chance for hours. Where the vehicle stands goes after
    /// it: `trigger(after:)`.
    private func triggerAtIgnitionOff() {
        let counts = hub.store.counts()
        for (port, sync) in uploadersThatListen
        where sync.isLatestOnly || counts[port.name]?.pending ?? 0 > 0 {
            outbox.deliver(.trigger(.ignitionOff), to: port)
        }
    }
}
