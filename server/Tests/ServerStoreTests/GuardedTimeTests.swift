import Base
import Testing

@testable import ServerStore

/// Runs of a server whose clock, and whose vehicles' clocks, are right or wrong.
private struct Run {
    static let step: Int64 = 300_000
    static let day: Int64 = 86_400_000

    /// The true time, in milliseconds.
    var now = GuardedTime.release.milliseconds + 100 * day
    /// By which the server's clock is ahead of it.
    var error: Int64 = 0
    var time = GuardedTime()
    var isSynchronised = false
    /// By how much the clocks of vehicles are ahead.
    var vehicles: [Int64] = []
    private var isStarted = false
    /// The most by which the guarded time was ahead of the true one, in days.
    private(set) var mostAhead = -1e9

    /// By how much it is ahead of the true time, in days.
    var ahead: Double { Double(time.time.milliseconds - now) / Double(Self.day) }

    /// With the clock right and confirmed.
    static func settled(vehicles: [Int64] = []) -> Run {
        var run = Run()
        run.time.time = Timestamp(milliseconds: run.now)
        run.vehicles = vehicles
        run.runs(days: 2)
        return run
    }

    private mutating func look(ran: Int64?) {
        let wall = now + error
        let near = vehicles.count { abs(now + $0 - wall) <= Self.day }
        let votes = GuardedTime.Votes(
            all: vehicles.count, near: near, ahead: vehicles.count { now + $0 > wall + Self.day })
        time.advance(
            GuardedTime.Look(
                wall: Timestamp(milliseconds: wall), ran: ran, isSynchronised: isSynchronised, votes: votes))
        mostAhead = max(mostAhead, ahead)
    }

    mutating func runs(days: Double) {
        if !isStarted { look(ran: nil) }
        isStarted = true
        for _ in 0..<Int(days * 288) {
            now += Self.step
            look(ran: Self.step)
        }
    }

    /// Another server, which has looked as often, goes on with the watch.
    mutating func isTakenOver(after milliseconds: Int64) {
        now += milliseconds
        let wall = now + error
        time.advance(
            GuardedTime.Look(
                wall: Timestamp(milliseconds: wall), ran: nil, since: milliseconds,
                isSynchronised: isSynchronised))
    }

    /// Ends the server, and after so long another one starts.
    mutating func restarts(after milliseconds: Int64) {
        now += milliseconds
        look(ran: nil)
        isStarted = true
    }
}

@Suite("the guarded time") struct GuardedTimeTests {
    private let right: [Int64] = [0, 0, 0, 0, 0]
    private let far = 400 * Run.day

    @Test("a leap that another server goes on to watch begins anew when the clock has stepped meanwhile")
    func takeover() {
        for (step, isHeld) in [(0, true), (60_000, true), (6 * Run.day, false), (-Run.day, false)] {
            var run = Run.settled()
            run.error = far
            run.runs(days: 3)
            let held = run.time.leap?.held ?? 0
            #expect(held > 2 * Run.day)
            run.error += Int64(step)
            run.isTakenOver(after: 60_000)
            #expect((run.time.leap?.held == held) == isHeld, "\(step)")
        }
    }

    @Test("it follows a clock that is right, and never goes back") func follows() {
        var run = Run.settled()
        run.runs(days: 3)
        #expect(run.ahead == 0 && run.mostAhead == 0)
        run.error = -60 * Run.day
        run.runs(days: 0.9)
        #expect(run.ahead < -0.89 && run.mostAhead == 0)
        run.error = 0
        run.runs(days: 0.1)
        #expect(run.ahead == 0)
    }

    @Test(
        "off for 90 days: back at once with five vehicles, after a week of running with fewer",
        arguments: [0, 1, 5])
    func off(vehicles: Int) {
        var run = Run.settled(vehicles: Array(repeating: 0, count: vehicles))
        run.restarts(after: 90 * Run.day)
        if vehicles == 5 {
            #expect(run.ahead == 0)
            return
        }
        #expect(run.ahead < -89)
        run.runs(days: 6.9)
        #expect(run.ahead < -89)
        run.runs(days: 0.2)
        #expect(run.ahead == 0 && run.mostAhead == 0)
    }

    @Test("the same with a clock that the kernel calls synchronised: after a day") func synchronised() {
        var run = Run.settled()
        run.isSynchronised = true
        run.restarts(after: 90 * Run.day)
        run.runs(days: 0.9)
        #expect(run.ahead < -89)
        run.runs(days: 0.2)
        #expect(run.ahead == 0)
    }

    @Test(
        "400 days ahead for six days, also on a new database: nothing grows old by it", arguments: [1, 5],
        [false, true])
    func ahead(vehicles: Int, isNew: Bool) {
        var run = isNew ? Run() : Run.settled()
        run.vehicles = Array(repeating: 0, count: vehicles)
        run.error = far
        run.runs(days: 6)
        #expect(run.mostAhead <= 0)
        run.error = 0
        run.runs(days: 0.1)
        // A new database knows no other time than that of its release: five vehicles tell it.
        if !isNew || vehicles == 5 { #expect(run.ahead == 0) }
    }

    @Test(
        "400 days ahead, and started again every five seconds: a restart gives nothing",
        arguments: [0, 1, 5],
        [false, true])
    func restarts(vehicles: Int, isNew: Bool) {
        var run = isNew ? Run() : Run.settled()
        run.vehicles = Array(repeating: 0, count: vehicles)
        run.error = far
        for _ in 0..<17_280 { run.restarts(after: 5000) }
        #expect(run.mostAhead <= 0 && run.time.leap?.held == 0)
    }

    @Test("a week of running is counted over restarts, and begins anew with another step") func counted() {
        var run = Run.settled()
        run.error = 30 * Run.day
        for _ in 0..<6 {
            run.runs(days: 1)
            run.restarts(after: 8 * 3_600_000)
        }
        #expect(run.ahead < 0 && run.mostAhead <= 0)
        var stepped = run
        stepped.error = far
        stepped.runs(days: 1.1)
        #expect(stepped.ahead < 0 && stepped.mostAhead <= 0)
        run.runs(days: 1.1)
        #expect(run.ahead == 30)
    }

    @Test("a machine without a clock of its own boots 60 days behind, and NTP sets it", arguments: [0, 1, 5])
    func behind(vehicles: Int) {
        var run = Run.settled(vehicles: Array(repeating: 0, count: vehicles))
        run.error = -60 * Run.day
        run.restarts(after: 3_600_000)
        run.runs(days: 0.01)
        run.isSynchronised = true
        run.error = 0
        run.runs(days: 0.01)
        #expect(run.ahead == 0 && run.mostAhead == 0)
    }

    @Test("half the vehicles without time are no majority for a clock, and none against it") func half() {
        var run = Run.settled()
        run.vehicles = [0, 0, 0, -20_000 * Run.day, -20_000 * Run.day, -20_000 * Run.day]
        run.restarts(after: 90 * Run.day)
        run.runs(days: 6)
        #expect(run.ahead < -89)
        run.runs(days: 1.1)
        #expect(run.ahead == 0)
        #expect(!GuardedTime.Votes(all: 6, near: 3, ahead: 0).contradict)
        #expect(GuardedTime.Votes(all: 4, near: 0, ahead: 3).contradict)
        #expect(!GuardedTime.Votes(all: 2, near: 0, ahead: 2).contradict)
    }

    @Test("two of three vehicles that are wrong with the server are no majority") func wrongVehicles() {
        var run = Run.settled()
        run.vehicles = [far, far, 0]
        run.error = far
        run.runs(days: 6)
        #expect(run.mostAhead <= 0)
    }

    // MARK: In the database

    @Test(
        "one row for all servers: one watches, and who comes after it takes over",
        arguments: Workshop.Kind.available)
    func watchers(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        defer { store.close() }
        let start = GuardedTime.release.advanced(bySeconds: 5 * 86_400)
        func look(
            _ watcher: ClockRow.Watcher, at now: Timestamp, elapsed: Int64?, isConfirmed: Bool = false
        ) async throws -> (ClockRow.Watcher, GuardedTime) {
            try await store.write { session throws(StoreError) in
                var watcher = watcher
                let (time, _) = try ClockRow.advance(
                    &watcher, now: now, elapsed: elapsed, isSynchronised: false, isConfirmed: isConfirmed,
                    in: session)
                return (watcher, time)
            }
        }
        var (first, second) = (ClockRow.Watcher(id: 1), ClockRow.Watcher(id: 2))
        var time: GuardedTime
        (first, time) = try await look(first, at: start, elapsed: nil)
        #expect(time.time == GuardedTime.release && time.isAhead(start))
        (second, time) = try await look(second, at: start, elapsed: nil)
        (first, time) = try await look(first, at: start.advanced(bySeconds: 60), elapsed: 60_000)
        // The second one ran as well, and counts only when the first has gone.
        (second, time) = try await look(second, at: start.advanced(bySeconds: 60), elapsed: 60_000)
        #expect(time.running == 60_000 && time.leap?.held == 60_000)
        (second, time) = try await look(second, at: start.advanced(bySeconds: 120), elapsed: 60_000)
        #expect(time.running == 60_000)
        (second, time) = try await look(second, at: start.advanced(bySeconds: 180), elapsed: 60_000)
        #expect(time.running == 120_000 && time.leap?.held == 120_000)
        (_, time) = try await look(ClockRow.Watcher(id: 3), at: start, elapsed: nil, isConfirmed: true)
        #expect(time.time == start && time.leap == nil)
        // It never goes back.
        (_, time) = try await look(first, at: GuardedTime.release, elapsed: 60_000)
        #expect(time.time == start)
    }

    @Test(
        "three vehicles that agree confirm at once; those of long ago do not count",
        arguments: Workshop.Kind.available)
    func votes(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        defer { store.close() }
        let now = GuardedTime.release.advanced(bySeconds: 9 * 86_400)
        func vote(_ devices: ClosedRange<Int64>, _ time: Timestamp) async throws {
            try await store.write { session throws(StoreError) in
                for device in devices {
                    try session.run(
                        "INSERT INTO devices(id, name, created) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
                        .integer(device), .text("van \(device)"))
                }
                try ClockRow.note(devices.map { ($0, time) }, in: session)
            }
        }
        func look() async throws -> GuardedTime {
            try await store.write { session throws(StoreError) in
                var watcher = ClockRow.Watcher(id: 1)
                return try ClockRow.advance(
                    &watcher, now: now, elapsed: nil, isSynchronised: false, isConfirmed: false, in: session
                ).time
            }
        }
        try await vote(1...2, now)
        #expect(try await look().time == GuardedTime.release)
        try await vote(3...5, now.advanced(bySeconds: -90 * 86_400))
        try await vote(3...3, now)
        #expect(try await look().time == GuardedTime.release)
        // What was heard more than a day of running ago is no vote.
        try await store.write { session throws(StoreError) in
            try session.run("UPDATE clock SET running = 90000000")
            try session.run("UPDATE votes SET running = 90000000 WHERE device <= 3")
        }
        #expect(try await look().time == now)
    }

    @Test(
        "of votes only those are counted that matter, and that tells the same",
        arguments: Workshop.Kind.available)
    func decisiveVotes(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        defer { store.close() }
        let now = GuardedTime.release.milliseconds
        for (ahead, others) in [(0, 4), (2, 0), (3, 0), (3, 1), (3, 2), (6, 2), (6, 3), (7, 2), (8, 3)] {
            let votes = try await store.write { session throws(StoreError) in
                try session.run("DELETE FROM votes")
                try session.run("DELETE FROM devices")
                for device in 1...Int64(ahead + others + 2) {
                    // Of the last two one is retired, and one was heard of long ago.
                    let isAhead = device <= Int64(ahead) || device > Int64(ahead + others)
                    try session.run(
                        "INSERT INTO devices(id, name, created, revoked) VALUES ($1, $2, 0, $3)",
                        .integer(device),
                        .text("van \(device)"), device == Int64(ahead + others + 1) ? .integer(1) : .null)
                    try session.run(
                        "INSERT INTO votes VALUES ($1, $2, $3)", .integer(device),
                        .integer(isAhead ? now + 2 * GuardedTime.slack : now),
                        .integer(device == Int64(ahead + others + 2) ? -90_000_000 : 0))
                }
                var watcher = ClockRow.Watcher(id: 1)
                return try ClockRow.advance(
                    &watcher, now: Timestamp(milliseconds: now), elapsed: nil, isSynchronised: false,
                    isConfirmed: false, in: session
                ).votes
            }
            let all = GuardedTime.Votes(all: ahead + others, ahead: ahead)
            #expect(votes.contradict == all.contradict, "\(ahead) of \(ahead + others)")
            #expect(votes.ahead == ahead && votes.all <= GuardedTime.Votes.decisive(ahead))
        }
    }
}
