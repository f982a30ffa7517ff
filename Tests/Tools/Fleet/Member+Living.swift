internal import Base
internal import Simulation
internal import Upload

extension Member {
    /// As it is at some time of the day, by its habits.
    init(roads: Int, seed: UInt64, now: BootInstant) {
        var random = SplitMix64(seed: seed)
        habits = Habits(roads: roads, using: &random)
        road = (random.uniform(0...Double(Road.length)), now)
        whereabouts = Whereabouts(loss: RouteLoss(now: now))
        schedule = DrainSchedule(habits.rules, now: now, using: &random)
        self.random = random
        let (isDriving, change) = habits.drives(at: now.seconds(since: BootInstant(nanoseconds: 0)))
        whereabouts.isDriving = isDriving
        if let change { whereabouts.dutyEdge = now.advanced(bySeconds: change) }
        guard wantsPower else { return }
        whereabouts.power = .on
        whereabouts.hasRoute = true
        if isDriving { whereabouts.routeEdge = nextGap(now: now) }
    }

    /// The vehicle's computer would run if there were no power cut.
    var wantsPower: Bool { habits.isAlwaysOn || whereabouts.isDriving }

    // MARK: Ignition

    /// Seconds that a computer goes on after the ignition has been switched off.
    private static let afterRun = 60.0

    mutating func turnIgnition(now: BootInstant) {
        let (isDriving, change) = habits.drives(at: now.seconds(since: BootInstant(nanoseconds: 0)) + 0.001)
        whereabouts.isDriving = isDriving
        whereabouts.dutyEdge = now.advanced(bySeconds: (change ?? 3.2e9) + 0.001)
        guard !isDriving else {
            if whereabouts.power == .off, !whereabouts.isCut { boot(now: now, seconds: 15...45) }
            // It was about to go off.
            if whereabouts.power == .on {
                whereabouts.powerEdge = Agenda.never
                if whereabouts.hasRoute { whereabouts.routeEdge = nextGap(now: now) }
            }
            return
        }
        if whereabouts.hasRoute { whereabouts.routeEdge = Agenda.never }
        guard whereabouts.power == .on else {
            if !habits.isAlwaysOn { switchOff() }
            return
        }
        if rows.pending > 0 { schedule.trigger(.ignitionOff, now: now, using: &random) }
        if !habits.isAlwaysOn { whereabouts.powerEdge = now.advanced(bySeconds: Self.afterRun) }
    }

    // MARK: Power

    mutating func boot(now: BootInstant, seconds: ClosedRange<Double>) {
        whereabouts.power = .booting
        whereabouts.powerEdge = now.advanced(bySeconds: random.uniform(seconds))
    }

    /// The daemon starts.
    mutating func start(now: BootInstant) {
        whereabouts.power = .on
        whereabouts.powerEdge = Agenda.never
        road.since = now
        drain = Drain()
        schedule = DrainSchedule(habits.rules, now: now, using: &random)
        whereabouts.loss = RouteLoss(now: now)
        if rows.pending > 0 { schedule.trigger(.started, now: now, using: &random) }
        // A modem may take longer than the rest.
        let attach = random.uniform(-10...25)
        whereabouts.hasRoute = attach <= 0 && !whereabouts.isDark
        whereabouts.routeEdge =
            whereabouts.hasRoute ? nextGap(now: now) : now.advanced(bySeconds: max(attach, 0))
        waitsSince = nil
        beginWaiting(now: now)
    }

    mutating func switchOff() {
        whereabouts.power = .off
        (whereabouts.powerEdge, whereabouts.routeEdge) = (Agenda.never, Agenda.never)
        whereabouts.hasRoute = false
        flight = .none
        waitsSince = nil
    }

    // MARK: Network

    /// When the network is lost next; only while driving.
    private mutating func nextGap(now: BootInstant) -> BootInstant {
        guard whereabouts.isDriving else { return Agenda.never }
        return now.advanced(bySeconds: random.uniform(600...4200))
    }

    /// Seconds that a gap of the network takes: tunnels, valleys, garages.
    mutating func gapSeconds() -> Double {
        let share = random.unit()
        if share < 0.7 { return random.uniform(5...60) }
        if share < 0.95 { return random.uniform(60...600) }
        return random.uniform(600...3600)
    }

    mutating func loseRoute(now: BootInstant) {
        whereabouts.routeEdge = Agenda.never
        guard whereabouts.power == .on, whereabouts.hasRoute else { return }
        whereabouts.hasRoute = false
        whereabouts.loss.vanished(now: now)
        waitsSince = nil
        switch flight {
        case .none, .failing, .outside: break
        case .arriving, .answered:
            flight = .failing(at: now.advanced(bySeconds: Link.stallTimeout), isForTime: true)
        }
    }

    mutating func findRoute(now: BootInstant) {
        whereabouts.routeEdge = Agenda.never
        // The whole neighbourhood has none.
        guard whereabouts.power == .on, !whereabouts.isDark else { return }
        whereabouts.hasRoute = true
        whereabouts.routeEdge = nextGap(now: now)
        let outage = whereabouts.loss.appeared(now: now)
        if rows.pending > 0 {
            schedule.trigger(.networkReturned(outage: outage), now: now, using: &random)
        }
        beginWaiting(now: now)
    }

    /// Something is pending that could be uploaded.
    mutating func beginWaiting(now: BootInstant) {
        if waitsSince == nil, rows.pending > 0, whereabouts.isOnline { waitsSince = now }
    }

    // MARK: Uploads

    mutating func beginUpload(now: BootInstant) {
        schedule.begin(now: now, using: &random)
    }

    mutating func endUpload(_ outcome: DrainOutcome, now: BootInstant) {
        _ = schedule.end(outcome, now: now, using: &random)
    }

    mutating func noteRequest(now: BootInstant) {
        schedule.requested(now: now, using: &random)
    }
}
