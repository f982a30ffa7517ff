import ArgumentParser
import ControlTool

/// A range of time, common to all that lists what is stored.
struct PeriodOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: "Start of the range, inclusive: ISO-8601, 2h (ago), now, today or yesterday.")
    var from: String?

    @Option(parsing: .unconditional, help: "End of the range, inclusive.")
    var to: String?

    @Option(parsing: .unconditional, help: "Only the most recent period, such as 2h; instead of --from.")
    var last: String?

    func validate() throws {
        if last != nil && from != nil { throw ValidationError("Give --last or --from, not both.") }
    }

    /// In the interface's format.
    func range(_ clock: LocalClock) throws -> (from: String?, to: String?) {
        try interfaceRange(from: from, to: to, last: last, clock: clock)
    }
}
