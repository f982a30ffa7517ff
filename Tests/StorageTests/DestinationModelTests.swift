import FoundationEssentials
import Support
import Testing

@testable import Storage

private enum Effort {
    static let environment = ProcessInfo.processInfo.environment
    static let steps = environment["BEEKOND_LONG"] == "1" ? 50_000 : 2500
    static let seeds: [UInt64] =
        environment["BEEKOND_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? [1, 2, 498_835_077, sampleSeed()]
}

/// Three destinations that come and go. After each step the ledger is what a start would make of the file; in the end each
/// destination has received each row that it was owed, unless a rule has taken it. BEEKOND_SEED repeats a failure.
@Test("each destination gets what it is owed, whatever becomes of the others", arguments: Effort.seeds)
func destinations(seed: UInt64) throws {
    var run = try DestinationRun(seed: seed)
    do {
        for _ in 1...Effort.steps { try run.step() }
        try run.finish()
    } catch {
        Issue.record(error, "BEEKOND_SEED=\(seed), step \(run.steps): \(run.latest)")
        return
    }
    print("destinations, BEEKOND_SEED=\(seed): \(run.summary)")
}
