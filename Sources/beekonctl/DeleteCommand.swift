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
        parsing: .unconditional,
        help: "Only locations at or before this time: ISO-8601, 2h (ago), now, today or yesterday.")
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
                let upTo = cutoff.map { "up to " + $0.text(in: clock.zone) }
                try confirm(question(upTo: upTo, try count(before: cutoff?.iso8601)))
            }
            let result = try delete(before: cutoff?.iso8601, by: &client)
            try common.print(result, text: text(result))
        }
    }

    /// - Parameter count: nil: not known.
    private func question(upTo end: String?, _ count: (all: Int, unsent: Int)?) -> String {
        let which = end.map { " \($0)" } ?? ""
        guard let (all, unsent) = count else {
            return
                "Delete \(end == nil ? "ALL stored locations" : "every stored location\(which)"), uploaded or not?"
        }
        if all == 0 { return "No location is stored\(which). Delete every trace of where it was?" }
        let lost = unsent == 0 ? "a server has received" : "nobody has received"
        if all == 1 {
            return "Delete \(end == nil ? "the only" : "1") stored location\(which), which \(lost)?"
        }
        return "Delete \(end == nil ? "ALL " : "")\(Quantity.count(all)) stored locations\(which), "
            + "\(unsent == 0 ? "all" : Quantity.count(unsent)) of which \(lost)?"
    }

    /// How many there are, and how many of them nobody has received; nil when the daemon cannot say.
    private func count(before cutoff: String?) throws -> (all: Int, unsent: Int)? {
        var client = try common.connect()
        let progress = Progress.onTerminal(isBusy: false)
        var (all, unsent) = (0, 0)
        do {
            try client.stream(
                Wire.GetLocationCount.self, .init(before: cutoff), timeoutSeconds: 60
            ) { part in
                // Whatever the daemon sends, this must not trap.
                (all, unsent) = (all &+ part.locations, unsent &+ part.unsent)
                progress.show("counting… \(Quantity.count(all))")
                return true
            }
        } catch is ControlError {
            return nil
        }
        return (all, unsent)
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
