import Base
import Simulation
import Testing

@testable import Fleet

/// Small fleets: what chance adds to a peak is allowed for, three standard deviations of the mean of a window.
private func allowance(_ peak: Run.Peak) -> Double { 1 + 3 / peak.mean.squareRoot() }

private func show(_ run: Run) -> Run.Peak {
    let peak = run.peak
    print(
        "\(run.plan.vehicles) vehicles, \(run.plan.scenario.rawValue): ratio \(peak.ratio), mean \(peak.mean)"
    )
    #expect(run.account.isBalanced, "\(run.account)")
    return peak
}

private func plan(_ scenario: Scenario, vehicles: Int, from start: Double, hours: Double, seed: UInt64 = 1)
    -> Fleet.Plan
{
    var plan = Fleet.Plan(vehicles: vehicles, scenario: scenario, hours: hours, seed: seed)
    (plan.startHour, plan.lead) = (start, 2400)
    return plan
}

@Suite("a simulated fleet")
struct FleetTests {
    @Test("in the morning has no peaks of its own")
    func day() throws {
        let run = Run(plan(.day, vehicles: 1500, from: 9, hours: 2), window: 100)
        let bound = try #require(Scenario.day.bound)
        #expect(show(run).ratio <= bound)
        #expect(run.turnedAway.shed + run.turnedAway.lost == 0)
        #expect(run.late.allSatisfy { $0 <= 1 })
    }

    @Test("comes back after an hour without a server without a rush, and nothing is lost")
    func outage() throws {
        let run = Run(plan(.outage, vehicles: 1000, from: 9.3, hours: 2.2), window: 120)
        let peak = show(run)
        let bound = try #require(Scenario.outage.bound)
        #expect(peak.ratio <= bound * allowance(peak))
        #expect(run.turnedAway.lost > 0.2)
        // The longest back-off, and what a drain takes.
        #expect(try #require(run.backlogGone) <= 720)
    }

    @Test("with a tenth that boots at the same moment", arguments: [Scenario.power, .network])
    func region(_ scenario: Scenario) throws {
        let run = Run(plan(scenario, vehicles: 2000, from: 9.3, hours: 1.5))
        let peak = show(run)
        let bound = try #require(scenario.bound)
        #expect(peak.ratio <= bound * allowance(peak))
        #expect(run.late.suffix(5).allSatisfy { $0 <= 2 })
    }

    @Test("gets from a server that can do half of what is needed all that it can do, and all get something")
    func slowServer() throws {
        var slow = plan(.slowServer, vehicles: 400, from: 8, hours: 4)
        // As many for each vehicle as for a hundred thousand.
        (slow.capacity.connections, slow.capacity.backlog) = (3, 16)
        slow.capacity = slow.capacity.slowed(Run.slowness(for: slow))
        let run = Run(slow)
        print("busy \(run.need), turned away \(run.turnedAway), longest wait \(run.longestWait) s")
        #expect(run.account.isBalanced, "\(run.account)")
        #expect(run.need > 0.9)
        #expect(run.turnedAway.shed + run.turnedAway.lost > 0.1)
        #expect(run.longestWait < 5400)
    }

    @Test("each row is acknowledged or pending, whatever happens", arguments: Scenario.allCases)
    func account(_ scenario: Scenario) {
        var fleet = Fleet(plan(scenario, vehicles: 60, from: 5, hours: 3))
        for minute in 1...180 {
            fleet.run(until: fleet.plan.start.advanced(bySeconds: Double(minute) * 60))
            #expect(fleet.account.isBalanced, "\(fleet.account)")
        }
        #expect(fleet.account.acknowledged > 1000)
        // Rows of real bodies are queued as they are counted.
        #expect(fleet.mill.made > 0)
        for vehicle in fleet.members.indices where fleet.mill.isReal(vehicle) {
            #expect(fleet.mill.pending(vehicle) == fleet.members[vehicle].rows.pending)
        }
    }

    @Test("with the same seed does the same, with another something else")
    func seeds() {
        func traffic(_ seed: UInt64) -> [Traffic.Second] {
            Run(plan(.power, vehicles: 50, from: 9, hours: 2, seed: seed)).traffic.seconds
        }
        let first = traffic(1)
        #expect(first == traffic(1))
        #expect(first != traffic(2))
    }

    @Test("is drawn as a chart, in each scenario")
    func chart() {
        for scenario in Scenario.allCases {
            let svg = Chart(Run(plan(scenario, vehicles: 30, from: 9, hours: 2))).svg
            #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
            #expect(svg.contains("requests per second") && svg.contains("time of day"))
            #expect(!svg.contains("nan") && !svg.contains("inf"))
        }
    }
}

@Suite("the parts of a simulated fleet")
struct PartTests {
    @Test("a server answers in order, turns away what waits too long, and ignores what has no room")
    func server() {
        var capacity = ServerModel.Capacity()
        (capacity.request, capacity.row, capacity.connections, capacity.backlog) = (1, 0, 15, 2)
        var server = ServerModel(capacity)
        let now = BootInstant(nanoseconds: 0)
        let fates = (0..<20).map { _ in server.take(rows: 5, at: now) }
        for (index, fate) in fates.enumerated() {
            switch index {
            // What comes later than the fifteen that are read at once is read when one of these is done.
            case ...10, 15, 16:
                guard case .answered(_, status: 200) = fate else {
                    Issue.record("\(index): \(fate)")
                    continue
                }
            case ...14:
                guard case .answered(_, status: 503) = fate else {
                    Issue.record("\(index): \(fate)")
                    continue
                }
            default: #expect(fate == .ignored)
            }
        }
        #expect(fates[10] == .answered(now.advanced(bySeconds: 11), status: 200))
        #expect(
            server.take(rows: 1, at: now.advanced(bySeconds: 60))
                == .answered(now.advanced(bySeconds: 61), status: 200))
        server.isDown = true
        #expect(server.take(rows: 1, at: now.advanced(bySeconds: 70)) == .refused)
    }

    @Test("a vehicle drives when its shifts say so, over midnight, too")
    func shifts() throws {
        var random = SplitMix64(seed: 1)
        for _ in 0..<200 {
            let habits = Habits(roads: 8, using: &random)
            var (time, seconds) = (0.0, 0.0)
            while time < 86_400 * 3, let change = habits.drives(at: time).changesIn {
                #expect(change > 0)
                if habits.drives(at: time).isDriving { seconds += change }
                time += change + 0.001
                guard seconds < 86_400 * 3 else { break }
            }
            let planned = habits.shifts.reduce(0.0) { $0 + Double($1.end - $1.start) }
            #expect(abs(seconds - 3 * planned) <= planned + 1)
        }
    }

    @Test("a road has the rows that the gate admits, round after round")
    func roads() throws {
        var random = SplitMix64(seed: 3)
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"))
        for pace in [0.0, 1.0] {
            let road = Road(pace: pace, id: id, using: &random)
            print("an hour at pace \(pace): \(road.rows.count) rows")
            #expect((30...125).contains(road.rows.count))
            #expect(road.count(upTo: 3600) == road.rows.count)
            #expect(road.count(upTo: 7200) == 2 * road.rows.count)
            for number in [0, 5, road.rows.count + 5] {
                let row = try #require(road.row(number))
                #expect(road.count(upTo: row.seconds) == number)
                #expect(road.count(upTo: row.seconds + 1) == number + 1)
            }
        }
    }
}
