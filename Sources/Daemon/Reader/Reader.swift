internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// The reader thread: gpsd → epochs → time → gate → COMMIT, one synchronous call chain that waits for nobody else. It hands
/// fixes and commands to its parts, none of which knows another. At the end of each turn it publishes what has come of it, and then
/// says so.
///
/// Confined to its thread.
final class Reader: Turns {
    let hub: Hub
    let outbox: Outbox
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
    /// Revision of the settings.
    var revision = 0
    var pipeline: FixPipeline
    var backlog: SourceBacklog
    /// Locations are only decided, and written later.
    var holdsWrites = false
    /// The present turn has written what was waiting.
    var hasFlushed = false
    /// Measures the present turn.
    var stopwatch = Stopwatch()
    private var hasBegun = false
    private var isFinishing = false
    /// Taken from the mailbox, and not carried out yet.
    private var commands: ArraySlice<ReaderCommand> = []

    /// Seconds; a turn that has taken as long ends.
    private static let turnLimit = 0.5

    /// - Returns: nil when there is no memory for libgps.
    init?(
        hub: Hub, settings: Settings, random: RandomSource = RandomSource(),
        gpsd dialler: Dialler = .network
    ) {
        guard let link = GPSDLink(settings.gpsd, random, dialler) else { return nil }
        self.hub = hub
        self.settings = settings
        battery = BatteryKeeper(hub.battery, settings)
        self.link = link
        outbox = Outbox(hub: hub)
        backlog = SourceBacklog(readAt: hub.startedAt)
        recorder = Recorder(store: hub.store)
        sessions = SessionKeeper(hub: hub, recorder: recorder)
        fences = FenceKeeper(hub: hub, recorder: recorder)
        events = EventKeeper(hub: hub, recorder: recorder, random: random)
        work = StepwiseWork(hub: hub, recorder: recorder, outbox: outbox, random: random)
        extras = ExtrasKeeper(hub: hub)
        times = TimeKeeper(hub: hub, outbox: outbox)
        odometer = OdometerKeeper(hub: hub)
        var random = random
        pipeline = FixPipeline(
            thresholds: Admission.Thresholds(settings), trips: Trips.Thresholds(settings),
            isReplay: settings.gpsd.replay, boot: events.boot,
            ids: UUIDv7Generator(using: &random))
    }

    /// - Returns: nil once the daemon stops and what was received is stored.
    func turn(now: BootInstant, stopwatch: Stopwatch, after _: Rest) -> Rest? {
        self.stopwatch = stopwatch
        if hub.board.isStopping.load(ordering: .relaxed) { return finish(now: now) }
        guard hasBegun else {
            hasBegun = true
            resume(now: now)
            noteHealth(now: now)
            return Rest.none
        }
        doWhatIsDue(now: now)
        return rest(now: now)
    }

    /// What is due, and no more of it than a client can wait for: a slow disk delays an answer by one commit, not by all.
    private func doWhatIsDue(now: BootInstant) {
        runCommands(now: now)
        followSource(now: now)
        expireRequests(now: now)
        followSchedule(now: now)
        followVehicle(now: now)
        expireTrips(now: now)
        runSteps(now: now)
        if recorder.isRetryDue(now) { flush(now: now, yields: true) }
        stampEvents(now: now)
        work.shrink(to: settings.store.maxRows, now: now)
        // While nothing is admitted, perhaps for days, nothing is written.
        reportStoreEvents()
        reportLosses(now: now)
        noteHealth(now: now)
        if adjustLink(now: now) { noteHealth(now: now) }
    }

    func answer() { outbox.send() }

    func publish(now: BootInstant) {
        hub.board.publish(snapshot())
    }

    private func runCommands(now: BootInstant) {
        // Taking the commands clears the wake-up: settings that come after the look at their slot wake this thread again.
        if commands.isEmpty { commands = hub.reader.takeAll()[...] }
        while let command = commands.popFirst() {
            perform(command, now: now)
            if !commands.isEmpty, isOver { return }
        }
        // What was asked for, whole fleets' fences perhaps, stays no longer in memory.
        commands = []
        if let new = hub.readerSettings.take() { apply(new, now: now) }
    }

    /// What gpsd says, until the turn has had its time, or a fix has been written and a client waits.
    func followSource(now: BootInstant) {
        if backlog.isEmpty { backlog = SourceBacklog(link.run(now: now), readAt: now) }
        hasFlushed = false
        while let event = backlog.next() {
            follow(event, readAt: backlog.readAt, now: now)
            // Where nothing is written, no time is lost.
            if hasFlushed, hub.hasWorkForReader || !commands.isEmpty || isOver { return }
        }
        backlog = SourceBacklog(readAt: now)
    }

    /// The turn has had its time.
    private var isOver: Bool { stopwatch.elapsed >= Self.turnLimit }

    /// The rest until something is due, or has come.
    private func rest(now: BootInstant) -> Rest {
        link.discountPause(seconds: stopwatch.elapsed)
        if !backlog.isEmpty || !commands.isEmpty { return .none }
        if work.hasSteps || work.mustShrink(to: settings.store.maxRows) { return .none }
        var rest = Rest()
        rest.add(hub.reader.wakeup.descriptor)
        link.add(to: &rest)
        vehicle?.add(to: &rest)
        let deadlines = [
            link.deadline, recorder.retryAt, pipeline.oneShots.deadline, losses.deadline, work.retryAt,
            schedule.deadline, events.deadline, vehicle?.deadline, tripDeadline(now: now),
        ]
        rest.end(by: deadlines.compactMap(\.self).min())
        return rest
    }

    private func reportLosses(now: BootInstant) {
        losses.report(
            hub.store.takeLosses(), refused: recorder.refused, limits: settings.store,
            uploads: settings.uploads, now: now)
    }

    /// The last epoch may still be open: what the receiver has sent is stored before the end.
    private func finish(now: BootInstant) -> Rest? {
        if isFinishing {
            flush(now: now)
        } else {
            isFinishing = true
            followRest(of: link.release(now: now), now: now)
            storeTrip(now: now)
            flush(now: now)
            keepOdometer(now: now)
        }
        if recorder.error == nil, recorder.waiting > 0 { return Rest.none }
        reportLosses(now: now)
        losses.reportRest(limits: settings.store, uploads: settings.uploads)
        recorder.reportLoss()
        noteHealth(now: now)
        outbox.post(.readerEnded)
        return nil
    }
}
