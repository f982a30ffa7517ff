import ArgumentParser
internal import Base
import ControlProtocol
import ControlTool

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Permanently delete stored locations, uploaded or not.",
        discussion: """
            Without --before, deletes everything, and no file of beekond shows any more where it was. With \
            --before, names the files that may still hold such positions because nothing can be cut out of \
            them. Requires root or group beekon-admin.

            EXAMPLES:
              beekonctl delete --before -7d
              beekonctl delete --yes
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        parsing: .unconditional, help: "Only locations at or before this time: ISO-8601, -2h, now or today.")
    var before: String?

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let cutoff = try before.map {
                try TimeArgument.instant($0, now: clock.now, zone: clock.zone)
            }
            // Connect before asking: without a daemon the question would be pointless.
            var client = try common.connect()
            if !yes {
                let what = cutoff.map { "every stored location up to \($0.text(in: clock.zone))" }
                try confirm("Delete \(what ?? "ALL stored locations"), uploaded or not?")
            }
            let result = try delete(before: cutoff?.iso8601, by: &client)
            try common.print(result, text: text(result))
        }
    }

    private func text(_ result: Wire.DeleteLocations.Result) -> [String] {
        let removed = ["\(Quantity.count(result.removed)) removed"]
        guard let kept = result.kept, !kept.isEmpty else { return removed }
        let names = kept.prefix(20).map { Text.cut(Text.safe($0), to: 80) }.joined(separator: ", ")
        return removed + ["May still hold such positions, because nothing can be cut out of them: \(names)"]
    }

    private func delete(
        before cutoff: String?, by client: inout ControlClient
    ) throws -> Wire.DeleteLocations.Result {
        let progress = Progress.onTerminal(isBusy: false)
        progress.show("deleting…")
        // Deletes in steps of 1000 rows, on a possibly slow disk.
        return try client.call(Wire.DeleteLocations.self, .init(before: cutoff), timeoutSeconds: 300) {
            guard let left = try? stored() else { return }
            progress.show("deleting… \(Quantity.count(left)) stored now")
        }
    }

    /// Number of rows left. Uses a connection of its own, since the other one is busy deleting.
    private func stored() throws -> Int {
        var client = try common.connect()
        return try client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 1).status.store.locations
    }
}
