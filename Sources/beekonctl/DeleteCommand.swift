import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete stored locations for good, uploaded or not.",
        discussion: """
            Without --before, everything goes. Needs root or group beekon-admin.

            EXAMPLES:
              beekonctl delete --before -7d
              beekonctl delete --yes
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        parsing: .unconditional, help: "Only what is at or before this time: ISO-8601, -2h, now or today.")
    var before: String?

    @Flag(help: "Do not ask.")
    var yes = false

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let cutoff = try before.map {
                try TimeArgument.instant($0, now: clock.now, zone: clock.zone)
            }
            // Before the question: an answer to a daemon that is not there would be given in vain.
            var client = try common.connect()
            if !yes { try ask(cutoff?.text(in: clock.zone)) }
            // In steps of 1000 rows on whatever disk there is.
            let result = try client.call(
                Wire.DeleteLocations.self, .init(before: cutoff?.iso), timeoutSeconds: 300)
            try common.print(result, text: ["\(Quantity.count(result.removed)) removed"])
        }
    }

    private func ask(_ cutoff: String?) throws {
        guard isatty(STDIN_FILENO) == 1 else {
            throw Failure("nobody is there to ask: add --yes to delete without asking", exitCode: 64)
        }
        let what = cutoff.map { "every stored location up to \($0)" } ?? "ALL stored locations"
        let question = Array("Delete \(what), uploaded or not? [y/N] ".utf8)
        // On stderr: stdout may be a file that wants only the result.
        _ = write(STDERR_FILENO, question, question.count)
        let answer = readLine() ?? ""
        guard ["y", "yes"].contains(answer.lowercased()) else {
            throw Failure("nothing deleted", exitCode: 1)
        }
    }
}
