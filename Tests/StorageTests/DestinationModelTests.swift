import FoundationEssentials
import Support
import Testing

@testable import Storage

private enum Effort {
    static let environment = ProcessInfo.processInfo.environment
    /// One that once found something, and needs so many steps for it.
    static let telling: UInt64 = 498_835_077
    static func steps(_ seed: UInt64) -> Int {
        environment["BEEKOND_LONG"] == "1" ? 50_000 : seed == telling ? 2500 : 1000
    }
    static let seeds: [UInt64] =
        environment["BEEKOND_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? (environment["BEEKOND_LONG"] == "1" ? [1, 2] : []) + [telling, sampleSeed()]
}

/// Three destinations that come and go. After each step the ledger is what a start would make of the file; in the end each
/// destination has received each row that it was owed, unless a rule has taken it. BEEKOND_SEED repeats a failure.
@Test("each destination gets what it is owed, whatever becomes of the others", arguments: Effort.seeds)
func destinations(seed: UInt64) throws {
    var run = try DestinationRun(seed: seed)
    do {
        for _ in 1...Effort.steps(seed) { try run.step() }
        try run.finish()
    } catch {
        Issue.record(error, "BEEKOND_SEED=\(seed), step \(run.steps): \(run.latest)")
        return
    }
    print("destinations, BEEKOND_SEED=\(seed): \(run.summary)")
}
