import FoundationEssentials
import Support

/// How much to do, from the environment.
enum Effort {
    /// BEEKOND_LONG=1 asks for the long form.
    static let isLong = ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1"

    /// Decides which points, losses and damages are tried.
    static let seed = sampleSeed()
}
