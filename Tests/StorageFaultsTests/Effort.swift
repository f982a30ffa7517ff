import FoundationEssentials
import Support

/// How much to do, from the environment.
enum Effort {
    /// BEEKOND_LONG=1 asks for the long form.
    static let isLong = ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1"

    /// Decides which points, losses and damages are tried.
    static let seed = sampleSeed()

    /// Chooses places of a list by the seed, the last always among them; in the long form all.
    static func places(of count: Int, atMost most: Int) -> Set<Int> {
        guard !isLong, count > most else { return Set(0..<count) }
        var random = SeededGenerator(seed: seed &+ UInt64(count))
        return Set((0..<count - 1).shuffled(using: &random).prefix(most - 1) + [count - 1])
    }
}
