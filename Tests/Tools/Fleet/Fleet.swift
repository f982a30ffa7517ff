package import Base
internal import Simulation
package import Upload

/// A fleet, and what happens to it: each vehicle decides as beekond does (`DrainSchedule`, `Drain`, `RouteLoss`, `Gate`), and its
/// requests go to a model of a server, or to whoever takes them from `departures`. Pure: time is simulated, randomness
/// seeded.
package struct Fleet {
    /// What a run is made of.
    package struct Plan: Sendable {
        package var vehicles: Int
        package var scenario: Scenario
        /// Hours since midnight at which it begins.
        package var startHour: Double
        /// Seconds from the beginning until what happens does.
        package var lead = 7200.0
        /// Simulated hours.
        package var hours: Double
        package var seed: UInt64
        /// What the server can do.
        package var capacity = ServerModel.Capacity()
        /// One vehicle in so many makes real bodies.
        package var realShare = 100
        /// A real server has the requests.
        package var isLive = false
        /// The time at the beginning.
        package var time = Timestamp(iso8601: "2026-06-15T00:00:00Z") ?? Timestamp(milliseconds: 0)

        package init(vehicles: Int, scenario: Scenario, hours: Double? = nil, seed: UInt64 = 1) {
            self.vehicles = vehicles
            self.scenario = scenario
            startHour = scenario.start
            self.hours = hours ?? scenario.hours
            self.seed = seed
        }

        /// A day after the boot of the simulated clock, so that nothing has happened before it.
        package var start: BootInstant {
            BootInstant(nanoseconds: 0).advanced(bySeconds: Double(Habits.day) + startHour * 3600)
        }

        /// Seconds from the beginning until something happens, and until it is over; nil: nothing does.
        package var event: ClosedRange<Double>? { scenario.duration.map { lead...lead + $0 } }

        package var end: BootInstant { start.advanced(bySeconds: hours * 3600) }
    }

    /// A request that somebody has to carry to a real server.
    package struct Departure: Sendable {
        package var vehicle: Int
        package var batch: UUIDv7
        package var request: Request
    }

    package let plan: Plan
    package internal(set) var members: [Member]
    /// Requests for a real server.
    package var departures: [Departure] = []
    package internal(set) var traffic: Traffic
    package internal(set) var ledger = FleetLedger()
    var server: ServerModel
    let roads: [Road]
    let mill: PayloadMill
    private var agenda: Agenda
    /// What happens to many at once, in order.
    private var events: [Event]

    /// One event of a scenario.
    private struct Event {
        var time: BootInstant
        var begins: Bool
    }

    /// Half of the roads are in town.
    private static let roadCount = 8

    package init(_ plan: Plan) {
        self.plan = plan
        var random = SplitMix64(seed: plan.seed)
        let start = plan.start
        var ids = UUIDv7Generator(using: &random)
        let roads = (0..<Self.roadCount).map { index in
            let pace = max(Double(index - 3), 0) / Double(Self.roadCount - 4)
            return Road(pace: pace, id: ids.next(at: plan.time), using: &random)
        }
        self.roads = roads
        mill = PayloadMill(
            share: plan.isLive ? 1 : plan.realShare, roads: roads,
            epoch: plan.time.advanced(bySeconds: -start.seconds(since: BootInstant(nanoseconds: 0))),
            keepsBodies: plan.isLive, seed: random.next())
        server = ServerModel(plan.capacity)
        traffic = Traffic(start: start, hours: plan.hours)
        agenda = Agenda(count: plan.vehicles)
        members = []
        members.reserveCapacity(plan.vehicles)
        for _ in 0..<plan.vehicles {
            members.append(Member(roads: Self.roadCount, seed: random.next(), now: start))
        }
        events = []
        if let event = plan.event {
            events = [(event.lowerBound, true), (event.upperBound, false)].map {
                Event(time: start.advanced(bySeconds: $0), begins: $1)
            }
        }
        for vehicle in members.indices { schedule(vehicle, now: start) }
    }

    /// When something happens next; nil: nothing does before the end.
    package var due: BootInstant? {
        let next = [agenda.first?.time, events.first?.time].compactMap(\.self).min()
        return next.flatMap { $0 < plan.end ? $0 : nil }
    }

    /// Does everything until `time`, which is included.
    package mutating func run(until time: BootInstant) {
        while let next = due, next <= time {
            if let event = events.first, event.time <= next {
                events.removeFirst()
                happen(event)
            } else if let (vehicle, now) = agenda.first {
                advance(vehicle, now: now)
                schedule(vehicle, now: now)
            }
        }
    }

    /// What is overdue is due now.
    mutating func schedule(_ vehicle: Int, now: BootInstant) {
        agenda.set(vehicle, max(members[vehicle].due, now))
    }

    // MARK: The scenario

    private mutating func happen(_ event: Event) {
        let now = event.time
        switch plan.scenario {
        case .day, .slowServer: return
        case .outage:
            server.isDown = event.begins
            if event.begins { loseRequests(now: now) }
            if !event.begins { ledger.noteReturn(now) }
        case .power, .network:
            if !event.begins { ledger.noteReturn(now) }
            for vehicle in members.indices where Scenario.isInRegion(vehicle) {
                change(vehicle, isCut: event.begins, now: now)
                schedule(vehicle, now: now)
            }
        }
    }

    private mutating func change(_ vehicle: Int, isCut: Bool, now: BootInstant) {
        if plan.scenario == .network {
            members[vehicle].whereabouts.isDark = isCut
            if isCut {
                members[vehicle].loseRoute(now: now)
            } else if !members[vehicle].whereabouts.hasRoute {
                members[vehicle].whereabouts.routeEdge = now
            }
            return
        }
        members[vehicle].whereabouts.isCut = isCut
        if isCut {
            switchOff(vehicle, now: now)
        } else if members[vehicle].wantsPower {
            // Like boards, at the same moment.
            members[vehicle].boot(now: now, seconds: 18...22)
        }
    }

    /// What the server had not answered is not answered.
    private mutating func loseRequests(now: BootInstant) {
        server.empty(at: now)
        for vehicle in members.indices {
            guard case .answered = members[vehicle].flight else { continue }
            members[vehicle].flight = .failing(at: now, isForTime: false)
            agenda.set(vehicle, now)
        }
    }

    // MARK: One vehicle

    private mutating func advance(_ vehicle: Int, now: BootInstant) {
        let due = members[vehicle].due
        if members[vehicle].flight.due <= due {
            fly(vehicle, now: now)
        } else if members[vehicle].whereabouts.due <= due {
            live(vehicle, now: now)
        } else {
            upload(vehicle, now: now)
        }
    }

    private mutating func live(_ vehicle: Int, now: BootInstant) {
        let edge = members[vehicle].whereabouts.due
        if members[vehicle].whereabouts.dutyEdge == edge {
            turn(vehicle, now: now)
        } else if members[vehicle].whereabouts.powerEdge == edge {
            if members[vehicle].whereabouts.power == .booting {
                members[vehicle].start(now: now)
            } else {
                switchOff(vehicle, now: now)
            }
        } else if members[vehicle].whereabouts.hasRoute {
            members[vehicle].loseRoute(now: now)
            let seconds = members[vehicle].gapSeconds()
            members[vehicle].whereabouts.routeEdge = now.advanced(bySeconds: seconds)
        } else {
            members[vehicle].findRoute(now: now)
        }
    }

    /// The ignition is switched on or off.
    private mutating func turn(_ vehicle: Int, now: BootInstant) {
        record(vehicle, now: now)
        members[vehicle].turnIgnition(now: now)
    }

    private mutating func switchOff(_ vehicle: Int, now: BootInstant) {
        record(vehicle, now: now)
        members[vehicle].switchOff()
    }

    /// Stores what it has driven since the last time.
    mutating func record(_ vehicle: Int, now: BootInstant) {
        guard members[vehicle].isRecording else { return members[vehicle].road.since = now }
        let (road, position) = (members[vehicle].habits.road, members[vehicle].road)
        let seconds = position.seconds + now.seconds(since: position.since)
        let before = roads[road].count(upTo: position.seconds)
        let count = roads[road].count(upTo: seconds) - before
        members[vehicle].road = (seconds, now)
        guard count > 0 else { return }
        mill.store(count, of: vehicle, from: before, on: road, seconds: seconds, now: now)
        members[vehicle].rows.store(count)
        members[vehicle].beginWaiting(now: now)
    }
}
