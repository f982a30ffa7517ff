internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// The reader thread: gpsd → epochs → time → gate → COMMIT, one synchronous call chain that waits for nobody else. It hands
/// fixes and commands to its parts, none of which knows another, and publishes what follows.
///
/// Confined to its thread.
final class Reader {
    let hub: Hub
    let recorder: Recorder
    let sessions: SessionKeeper
    let fences: FenceKeeper
    let events: EventKeeper
    let link: GPSDLink
    let work: StepwiseWork
    let extras: ExtrasKeeper
    let times: TimeKeeper
    let odometer: OdometerKeeper
    let losses = LossReporter()
    var battery: BatteryKeeper
    var schedule = ScheduleKeeper()
    /// nil unless the vehicle says something.
    var vehicle: IgnitionKeeper?
    var settings: Settings
    var pipeline: FixPipeline

    /// - Returns: nil when there is no memory for libgps.
    init?(hub: Hub, settings: Settings) {
        guard let link = GPSDLink(settings.gpsd) else { return nil }
        self.hub = hub
        self.settings = settings
        battery = BatteryKeeper(hub.battery, settings)
        self.link = link
        recorder = Recorder(store: hub.store)
        sessions = SessionKeeper(hub: hub, recorder: recorder)
        fences = FenceKeeper(hub: hub, recorder: recorder)
        events = EventKeeper(hub: hub, recorder: recorder)
        work = StepwiseWork(hub: hub, recorder: recorder)
        extras = ExtrasKeeper(hub: hub)
        times = TimeKeeper(hub: hub)
        odometer = OdometerKeeper(hub: hub)
        var random = SystemRandomNumberGenerator()
        pipeline = FixPipeline(
            thresholds: Admission.Thresholds(settings), trips: Trips.Thresholds(settings),
            isReplay: settings.gpsd.replay, boot: events.boot,
            ids: UUIDv7Generator(using: &random))
    }

    /// Runs until the daemon stops.
    func run() {
        resume(now: .current())
        while !hub.board.isStopping.load(ordering: .relaxed) {
            let now = BootInstant.current()
            hub.board.readerWork.begin(now)
            runCommands(now: now)
            for event in link.run(now: now) {
                follow(event, now: now)
                // A slow disk may delay each fix; a client waits for one of them, not for all.
                if hub.hasWorkForReader { runCommands(now: now) }
            }
            expireRequests(now: now)
            followSchedule(now: now)
            followVehicle(now: now)
            expireTrips(now: now)
            runSteps(now: now)
            if recorder.isRetryDue(now) { flush(now: now) }
            stampEvents(now: now)
            work.shrink(to: settings.store.maxRows, now: now)
            // While nothing is admitted, perhaps for days, nothing is written.
            reportStoreEvents()
            reportLosses(now: now)
            publish(now: now)
            if adjustLink(now: now) { publish(now: now) }
            waitForWork(since: now)
        }
        finish(now: .current())
    }

    private func runCommands(now: BootInstant) {
        // Taking the commands clears the wake-up: settings that come after the look at their slot wake this thread again.
        for command in hub.reader.takeAll() { perform(command, now: now) }
        if let new = hub.readerSettings.take() { apply(new, now: now) }
    }

    /// - Parameter started: when this round began.
    private func waitForWork(since started: BootInstant) {
        let now = BootInstant.current()
        link.discountPause(seconds: now.seconds(since: started))
        if work.hasSteps || work.mustShrink(to: settings.store.maxRows) { return }
        var poll = PollSet()
        poll.add(hub.reader.wakeup.descriptor)
        link.add(to: &poll)
        vehicle?.add(to: &poll)
        let deadlines = [
            link.deadline, recorder.retryAt, pipeline.oneShots.deadline, losses.deadline, work.retryAt,
            schedule.deadline, events.deadline, vehicle?.deadline, tripDeadline(now: now),
        ]
        let deadline = deadlines.compactMap(\.self).min()
        hub.board.readerWork.rest()
        poll.wait(seconds: deadline.map { max($0.seconds(since: now), 0) })
    }

    private func reportLosses(now: BootInstant) {
        losses.report(
            hub.store.takeLosses(), refused: recorder.refused, limits: settings.store,
            uploads: settings.uploads, now: now)
    }

    /// The last epoch may still be open: what the receiver has sent is stored before the end.
    private func finish(now: BootInstant) {
        for event in link.release(now: now) { follow(event, now: now) }
        storeTrip(now: now)
        flush(now: now)
        keepOdometer(now: now)
        while recorder.error == nil, recorder.waiting > 0 { flush(now: .current()) }
        reportLosses(now: now)
        losses.reportRest(limits: settings.store, uploads: settings.uploads)
        recorder.reportLoss()
        publish(now: now)
        hub.board.readerWork.rest()
        hub.post(.readerEnded)
    }
}
