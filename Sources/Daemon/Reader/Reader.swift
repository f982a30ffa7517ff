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
final class Reader {
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
    /// That of the settings.
    var revision = 0
    var pipeline: FixPipeline
    var backlog: SourceBacklog
    /// Locations are only decided, and written later.
    var holdsWrites = false
    /// This turn has written what was waiting.
    var hasFlushed = false
    /// Of the turn.
    var stopwatch = Stopwatch()
    /// Taken from the mailbox, and not carried out yet.
    private var commands: ArraySlice<ReaderCommand> = []

    /// Seconds; a turn that has taken as long ends.
    private static let turnLimit = 0.5

    /// - Returns: nil when there is no memory for libgps.
    init?(hub: Hub, settings: Settings, random: RandomSource = RandomSource()) {
        guard let link = GPSDLink(settings.gpsd, random) else { return nil }
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

    /// Runs until the daemon stops.
    func run() {
        let start = BootInstant.current()
        hub.board.readerWork.begin(start)
        resume(now: start)
        noteHealth(now: start)
        endTurn()
        while !hub.board.isStopping.load(ordering: .relaxed) {
            let now = BootInstant.current()
            hub.board.readerWork.begin(now)
            stopwatch = Stopwatch()
            turn(now: now)
            endTurn()
            waitForWork(since: now, now: .current())
        }
        stopwatch = Stopwatch()
        finish(now: .current())
    }

    /// What is due, and no more of it than a client can wait for: a slow disk delays an answer by one commit, not by all.
    private func turn(now: BootInstant) {
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

    /// Shows how things stand, and only then says what the turn has to say.
    func endTurn() {
        hub.board.publish(snapshot())
        outbox.send()
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

    /// - Parameter started: when the turn began that has ended now.
    private func waitForWork(since started: BootInstant, now: BootInstant) {
        link.discountPause(seconds: now.seconds(since: started))
        if !backlog.isEmpty || !commands.isEmpty { return }
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
        followRest(of: link.release(now: now), now: now)
        storeTrip(now: now)
        flush(now: now)
        keepOdometer(now: now)
        while recorder.error == nil, recorder.waiting > 0 { flush(now: now) }
        reportLosses(now: now)
        losses.reportRest(limits: settings.store, uploads: settings.uploads)
        recorder.reportLoss()
        noteHealth(now: now)
        outbox.post(.readerEnded)
        endTurn()
        hub.board.readerWork.rest()
    }
}
