import FoundationEssentials
import Support
import Testing

@testable import Storage

/// How much to do, and with which seed, from the environment.
private enum Effort {
    static let environment = ProcessInfo.processInfo.environment
    static let steps = environment["BEEKOND_LONG"] == "1" ? 250_000 : 4000
    /// One seed every time, and one that the commit decides, because a failure is repeated by its seed alone.
    /// In the long form three are the same.
    static let seeds: [UInt64] =
        environment["BEEKOND_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? (environment["BEEKOND_LONG"] == "1" ? [1, 2, 3, sampleSeed()] : [1, sampleSeed()])
}

/// Random operations of every kind against lists and rules. 8,000 of them in two runs, a million in four with BEEKOND_LONG=1;
/// BEEKOND_SEED repeats a failure.
@Test(
    "whatever is done in whatever order, the store holds what the model says",
    arguments: Effort.seeds)
func model(seed: UInt64) throws {
    var run = try ModelRun(seed: seed)
    for step in 1...Effort.steps {
        do {
            try run.step()
        } catch {
            Issue.record(error, "BEEKOND_SEED=\(seed), step \(step): \(run.latest)")
            return
        }
    }
    print("model, BEEKOND_SEED=\(seed): \(run.summary)")
}
