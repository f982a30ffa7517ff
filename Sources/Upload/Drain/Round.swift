/// How long the rounds of a schedule take. Pure: randomness is an argument.
enum Round {
    /// Seconds: up to 10 % early, never late, so that a fleet does not stay in step.
    static func next(of interval: Double, using random: inout some RandomNumberGenerator) -> Double {
        interval * Double.random(in: 0.9...1.0, using: &random)
    }

    /// Seconds: what is left of a round at a random moment of it. If it were a part of the whole interval, those of a fleet that
    /// begins all at once who come early for the second time would meet those who come late for the first.
    static func first(of interval: Double, using random: inout some RandomNumberGenerator) -> Double {
        next(of: interval, using: &random) * Double.random(in: 0...1, using: &random)
    }
}
