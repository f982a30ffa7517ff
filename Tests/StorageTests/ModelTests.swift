import FoundationEssentials
import Support
import Testing

@testable import Storage

/// How much to do, and with which seed, from the environment.
private enum Effort {
    static let environment = ProcessInfo.processInfo.environment
    static let steps = environment["BEEKOND_LONG"] == "1" ? 250_000 : 25_000
    static let seed = environment["BEEKOND_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...999_999_999)
}

/// Random operations of every kind against lists and rules. 100,000 of them in four runs, a million with BEEKOND_LONG=1;
/// BEEKOND_SEED repeats a failure.
@Test(
    "whatever is done in whatever order, the store holds what the model says",
    arguments: 0..<4 as Range<UInt64>)
func model(number: UInt64) throws {
    var run = try ModelRun(seed: Effort.seed &+ number)
    for step in 1...Effort.steps {
        do {
            try run.step()
        } catch {
            Issue.record(error, "BEEKOND_SEED=\(Effort.seed), run \(number), step \(step): \(run.latest)")
            return
        }
    }
    print("model, BEEKOND_SEED=\(Effort.seed), run \(number): \(run.summary)")
}
