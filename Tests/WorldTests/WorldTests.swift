import Base
import Glibc
import Support
import Testing

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// Lives from seeds, each held against the laws; `make simulate` runs more of them.
@Suite("a simulated world", .serialized) struct WorldTests {
    /// Seeds that are always tried.
    private static var seeds: [UInt64] {
        // Empty where `make simulate` has none.
        if let text = getenv("BEEKOND_WORLD_SEED"), let seed = UInt64(String(cString: text)) { return [seed] }
        let text = getenv("BEEKOND_WORLD_SEEDS").map { String(cString: $0) } ?? "25"
        let ends = text.split(separator: "-").compactMap { UInt64($0) }
        guard let last = ends.last else { return [] }
        let first = ends.count > 1 ? ends[0] : 1
        return Array(first...max(first, last))
    }

    @Test("what is stored arrives, once, and what was said is so") func laws() throws {
        var (days, rows, kills) = (0.0, 0, 0)
        var fates: [SimulatedServer.Fate: Int] = [:]
        var formats: [Format: Int] = [:]
        var events: [String: Int] = [:]
        var digest: UInt64 = 0
        let began = clock()
        for seed in Self.seeds {
            Self.tell("seed \(seed)")
            let seconds = Self.length(seed)
            let world = try World(seed: seed)
            try world.run(seconds: seconds)
            #expect(world.laws.violations == [], "BEEKOND_WORLD_SEED=\(seed)")
            if let first = world.laws.violations.first { Self.tell("seed \(seed) broke a law: \(first)") }
            days += seconds / 86_400
            rows += world.laws.stored.count
            kills += world.kills
            for server in world.servers {
                fates.merge(server.fates, uniquingKeysWith: +)
                formats[server.format, default: 0] += 1
            }
            events.merge(world.machine.events, uniquingKeysWith: +)
            for endpoint in world.endpoints {
                for (fate, count) in endpoint.fates { events[fate.rawValue, default: 0] += count }
            }
            digest = (digest &* 31) ^ world.digest
        }
        // Of the processor.
        let taken = Double(clock() - began) / Double(CLOCKS_PER_SEC)
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        let answers = Dictionary(
            uniqueKeysWithValues: SimulatedServer.Fate.allCases.map { ($0.rawValue, fates[$0] ?? 0) })
        let destinations = Dictionary(
            uniqueKeysWithValues: World.formats.map { ($0.rawValue, formats[$0] ?? 0) })
        for fate in SimulatedTokenEndpoint.Fate.allCases { events[fate.rawValue, default: 0] += 0 }
        for event in SimulatedMachine.eventNames where events[event] == nil { events[event] = 0 }
        Self.tell(
            "world: \(Self.seeds.count) seeds, \(tenths(days * 24)) hours, \(rows) rows, \(kills) kills, in "
                + "\(tenths(taken)) s of a processor, digest \(digest); \(list(answers)); \(list(destinations)); "
                + list(events))
    }

    private func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }

    /// At once: what comes after it may be a crash.
    private static func tell(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// docs/simulation.md, "What it sees", has what they found.
    @Test("what a seed has found stays mended", arguments: [161, 180] as [UInt64]) func mended(seed: UInt64)
        throws
    {
        let world = try World(seed: seed)
        try world.run(seconds: Self.length(seed))
        #expect(world.laws.violations == [])
    }

    @Test("two lives from one seed are the same", arguments: sampled([1, 2, 3] as [UInt64], 1))
    func repeatable(seed: UInt64) throws {
        let lives = try (0..<2).map { _ in
            let world = try World(seed: seed)
            try world.run(seconds: Self.length(seed))
            return world
        }
        #expect(lives[0].digest == lives[1].digest && lives[0].turns == lives[1].turns)
    }

    /// Seconds: from ten minutes to four hours, as many short ones as long ones.
    private static func length(_ seed: UInt64) -> Double {
        var random = SeededGenerator(seed: ~seed)
        return exp(Double.random(in: log(600.0)...log(14_400.0), using: &random))
    }
}
