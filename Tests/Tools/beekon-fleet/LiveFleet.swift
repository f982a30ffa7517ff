internal import Base
internal import DaemonConfiguration
import Fleet
internal import Linux
internal import Upload

/// A fleet that uploads to a real server: time passes as it does, or faster, and requests go over HTTP.
struct LiveFleet {
    /// What has become of a request.
    private struct Arrival: Sendable {
        var porter: Int
        var vehicle: Int
        /// nil: there is no answer.
        var judgement: Judgement?
    }

    /// Number of requests at once.
    private static let porterCount = 16
    /// Before noon most vehicles drive.
    private static let startHour = 9.0

    private var fleet: Fleet
    private let plan: Fleet.Plan
    private let speedUp: Double
    private let arrivals: Mailbox<Arrival>
    private let porters: [Mailbox<Fleet.Departure>]
    private var idle: [Int]
    private var waiting: [Fleet.Departure] = []
    /// When it began, and when it ends.
    private let began: BootInstant
    private var answers = (accepted: 0, refused: 0, none: 0)

    init(_ given: Fleet.Plan, _ options: LiveOptions) throws {
        var plan = given
        (plan.isLive, plan.startHour) = (true, Self.startHour)
        // The end is now, so that no server finds a time in its future.
        plan.time = Timestamp(milliseconds: Clock.realtimeMilliseconds()).advanced(
            bySeconds: -plan.hours * 3600)
        let tokens = try options.read(count: plan.vehicles)
        let arrivals = try Mailbox<Arrival>(limit: .max)
        var sync = Settings.Sync()
        sync.url = options.url ?? ""
        let settings = sync
        porters = try (0..<Self.porterCount).map { number in
            let mailbox = try Mailbox<Fleet.Departure>(limit: 1)
            try startThread(named: "porter \(number)") {
                Self.carry(mailbox, to: settings, tokens, number: number, arrivals)
            }
            return mailbox
        }
        (self.plan, self.arrivals, speedUp) = (plan, arrivals, options.speedUp)
        fleet = Fleet(plan)
        idle = Array(porters.indices)
        began = .current()
    }

    /// The loop of a thread that carries requests, one at a time.
    private static func carry(
        _ departures: Mailbox<Fleet.Departure>, to sync: Settings.Sync, _ tokens: [String], number: Int,
        _ arrivals: Mailbox<Arrival>
    ) {
        guard let http = HTTPClient() else { return }
        var carrier = Carrier(http, version: "fleet", installID: "fleet", destination: "main")
        while true {
            var rest = Rest()
            rest.add(departures.wakeup.descriptor)
            rest.wait(seconds: nil)
            for departure in departures.takeAll() {
                let time = Timestamp(milliseconds: Clock.realtimeMilliseconds())
                carrier.begin(
                    departure.request, of: departure.batch, to: sync,
                    authorization: "Bearer " + tokens[departure.vehicle], at: time, now: .current())
                var progress = carrier.advance(now: .current())
                while progress == .underway {
                    var rest = carrier.rest(now: .current())
                    rest.wait(now: .current())
                    progress = carrier.advance(now: .current())
                }
                var arrival = Arrival(porter: number, vehicle: departure.vehicle)
                if case .ended(.answer(let reply)) = progress {
                    arrival.judgement = reply.judged(
                        as: departure.request.format, of: departure.batch, by: sync, at: time)
                }
                arrivals.deliver(arrival)
            }
        }
    }

    private func simulated(_ now: BootInstant) -> BootInstant {
        plan.start.advanced(bySeconds: now.seconds(since: began) * speedUp)
    }

    mutating func run() {
        while true {
            let now = simulated(.current())
            for arrival in arrivals.takeAll() { receive(arrival, now: now) }
            fleet.run(until: min(now, plan.end))
            waiting += fleet.departures
            fleet.departures = []
            dispatch()
            if now >= plan.end, idle.count == porters.count, waiting.isEmpty { break }
            var rest = Rest()
            rest.add(arrivals.wakeup.descriptor)
            let due = fleet.due ?? (now < plan.end ? plan.end : now.advanced(bySeconds: 1))
            rest.wait(seconds: max(due.seconds(since: simulated(.current())), 0) / speedUp)
        }
        let account = fleet.account
        print(
            """
            \(plan.vehicles) vehicles for \(plan.hours) h: \(answers.accepted) requests accepted, \(answers.refused) \
            refused, \(answers.none) without an answer
            account: \(account.stored) stored = \(account.acknowledged) acknowledged + \(account.pending) pending
            """)
    }

    private mutating func receive(_ arrival: Arrival, now: BootInstant) {
        idle.append(arrival.porter)
        switch arrival.judgement?.verdict {
        case .accepted: answers.accepted += 1
        case nil: answers.none += 1
        default: answers.refused += 1
        }
        fleet.deliver(arrival.judgement, to: arrival.vehicle, now: now)
    }

    private mutating func dispatch() {
        while let porter = idle.last, !waiting.isEmpty {
            idle.removeLast()
            porters[porter].deliver(waiting.removeFirst())
        }
    }
}

extension BootInstant {
    /// Now.
    fileprivate static func current() -> BootInstant { BootInstant(nanoseconds: Clock.boot()) }
}
