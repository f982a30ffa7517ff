import Base
import Glibc
import Support
import Testing

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// Lives from seeds, each held against the laws; `make simulate` runs more of them.
@Suite("a simulated world", .serialized) struct WorldTests {
    /// What `make simulate` wants; else some that are always tried, and some that the commit draws: in CI a hundred of both.
    private static var seeds: [UInt64] {
        if let text = getenv("BEEKOND_WORLD_SEED"), let seed = UInt64(String(cString: text)) { return [seed] }
        guard let text = getenv("BEEKOND_WORLD_SEEDS").map({ String(cString: $0) }) else {
            var random = SeededGenerator(seed: sampleSeed())
            let (fixed, drawn) = getenv("CI") == nil ? (15, 10) : (100, 100)
            let seeds = (0..<drawn).map { _ in UInt64.random(in: 101...1_000_000_000, using: &random) }
            return (1...UInt64(fixed)) + seeds
        }
        let ends = text.split(separator: "-").compactMap { UInt64($0) }
        guard let last = ends.last else { return [] }
        let first = ends.count > 1 ? ends[0] : 1
        return Array(first...max(first, last))
    }

    @Test("what is stored arrives, once, and what was said is so") func laws() throws {
        let words = getenv("BEEKOND_WORLD").map { String(cString: $0) } ?? ""
        var tally = Tally()
        for seed in Self.seeds {
            try live(Life(seed, words), &tally)
            tally.noteMemory()
        }
        Self.tell(tally.text)
    }

    private func live(_ life: Life, _ tally: inout Tally) throws {
        Self.tell("seed \(life.seed)")
        let world = try World(life)
        try world.run()
        #expect(world.laws.violations == [], "BEEKOND_WORLD_SEED=\(life.seed)")
        if let first = world.laws.violations.first { Self.tell("seed \(life.seed) broke a law: \(first)") }
        Self.tell(
            "seed \(life.seed) ended: \(world.seconds) s, happenings "
                + "\(world.numbers.map(String.init).joined(separator: ",")), digest \(world.digest.value), "
                + "requests \(world.requestsDigest.value)")
        tally.add(world)
    }

    /// At once: what comes after it may be a crash.
    private static func tell(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// docs/simulation.md, "What it sees", has what they found.
    @Test(
        "what a seed has found stays mended",
        arguments: [
            Life(424, seconds: 2622, only: [20, 34, 44, 60, 61, 63, 65, 1_000_161]),
            Life(1579, seconds: 2507, destinations: 3, only: [10, 20, 30, 31, 42, 50, 70]),
            Life(1676, seconds: 12_964, destinations: 1, only: [160, 170, 190, 220, 240, 270]),
            Life(2285, seconds: 4025, destinations: 1, only: [70, 90, 91, 100]),
            Life(2839, seconds: 1166, destinations: 2),
            Life(2922, seconds: 51, destinations: 3, only: [10]),
        ]) func mended(life: Life) throws
    {
        let world = try World(life)
        try world.run()
        #expect(world.laws.violations == [])
    }

    @Test("two lives from one seed are the same", arguments: sampled([1, 2, 3] as [UInt64], 1))
    func repeatable(seed: UInt64) throws {
        let lives = try (0..<2).map { _ in
            let world = try World(Life(seed))
            try world.run()
            return world
        }
        #expect(lives[0].digest.value == lives[1].digest.value && lives[0].turns == lives[1].turns)
    }
}

/// What some lives come to.
private struct Tally {
    private var seeds = 0
    private var (seconds, rows, kills) = (0.0, 0, 0)
    private var counts: [String: Int] = [:]
    private var digest: UInt64 = 0
    private var heldAtTenth = 0
    private let began = clock()

    init() {
        // All that there is: what never happens is counted, too.
        let names =
            SimulatedServer.Fate.allCases.map(\.rawValue) + World.formats.map(\.rawValue)
            + SimulatedTokenEndpoint.Fate.allCases.map(\.rawValue) + SimulatedMachine.eventNames
            + Happening.allCases.map(\.rawValue)
        counts = Dictionary(names.map { ($0, 0) }) { first, _ in first }
    }

    mutating func add(_ world: World) {
        seeds += 1
        seconds += world.seconds
        rows += world.laws.stored.count
        kills += world.kills
        counts["turns amid another", default: 0] += world.nestedTurns
        for server in world.servers {
            for (fate, count) in server.fates { counts[fate.rawValue, default: 0] += count }
            counts[server.format.rawValue, default: 0] += 1
        }
        for endpoint in world.endpoints {
            for (fate, count) in endpoint.fates { counts[fate.rawValue, default: 0] += count }
        }
        counts.merge(world.machine.events, uniquingKeysWith: +)
        for (what, count) in world.happened { counts[what.rawValue, default: 0] += count }
        digest = (digest &* 31) ^ world.digest.value
    }

    /// Once a world is gone.
    mutating func noteMemory() {
        if seeds == 10 { heldAtTenth = Self.held }
    }

    var text: String {
        // Of the processor.
        let taken = Double(clock() - began) / Double(CLOCKS_PER_SEC)
        let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return
            "world: \(seeds) seeds, \(tenths(seconds / 3600)) hours, \(rows) rows, \(kills) kills, in "
            + "\(tenths(taken)) s of a processor, digest \(digest), \(heldAtTenth) to \(Self.held) kB; \(list)"
    }

    private func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }

    /// kB that this process has asked malloc for, and not given back. Its resident memory has what is free between those
    /// pieces, too, and grows with the largest seed so far.
    private static var held: Int {
        var (text, size) = (nil as UnsafeMutablePointer<CChar>?, 0)
        guard let symbol = dlsym(nil, "malloc_info"), let file = open_memstream(&text, &size) else {
            return 0
        }
        typealias MallocInfo = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
        _ = unsafeBitCast(symbol, to: MallocInfo.self)(0, file)
        fclose(file)
        defer { free(text) }
        guard let text else { return 0 }
        // Of all heaps together, which come last.
        return String(cString: text).split(separator: "\n").suffix(8).reduce(0) { sum, line in
            let form = /^<(?:total|system) type="(fast|rest|mmap|current)".* size="(\d+)"/
            guard let found = line.firstMatch(of: form), let bytes = Int(found.2) else { return sum }
            return found.1 == "fast" || found.1 == "rest" ? sum - bytes / 1024 : sum + bytes / 1024
        }
    }
}
