import ArgumentParser
import ControlProtocol
import ControlTool

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Upload what is pending now, and report the outcome.",
        discussion: """
            Exits with 0 when nothing is left, 75 when the server cannot be reached at the moment, 77 when it \
            refuses the credentials, 65 when it rejects the data, 76 when its answer will not change by \
            itself, 78 when no upload is configured.

            Without NAME all destinations are asked to try, and the outcome is that of main; where main has no \
            url, the worst of the others.

            With --rebatch, a batch that failed three times in a row for its size or its time (413, 408, or \
            a time-out after bytes were sent) is dissolved first, and its rows go into batches of the present \
            sync.batch_size, or that of its destination: lower that before. If the server has stored the batch all the same, its rows \
            arrive twice, under two batch ids. Needs root or group beekon-admin.

            EXAMPLES:
              beekonctl sync
              beekonctl sync home
              beekonctl config set sync.batch_size=20 && beekonctl sync --rebatch
              beekonctl sync --no-wait
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "Only this destination.", completion: .destinations)
    var name: String?

    @Option(
        name: .customLong("destination"), help: "Only this destination, as elsewhere.",
        completion: .destinations)
    var destination: String?

    @Flag(name: .customLong("no-wait"), help: "Request the upload without waiting for it.")
    var noWait = false

    @Flag(help: "First dissolve a batch that is too large for the link or the server.")
    var rebatch = false

    private var wanted: String? { name ?? destination }

    func validate() throws {
        if let name, let destination, name != destination {
            throw ValidationError("Name one destination, not two.")
        }
    }

    func run() throws {
        var code: Int32 = 0
        try common.run(for: wanted) {
            var client = try common.connect()
            if rebatch {
                let dissolved = try client.call(Wire.Rebatch.self, .init(destination: wanted))
                CommonOptions.warn(
                    "batch \(dissolved.batchId) dissolved: its \(Quantity.count(dissolved.rows)) rows go into new "
                        + "batches, and may arrive twice, under two batch ids")
            }
            // Draining a large backlog takes time; Ctrl-C leaves the drain running in the daemon.
            let result = try client.call(
                Wire.Sync.self, .init(wait: !noWait, destination: wanted),
                timeoutSeconds: noWait ? ControlClient.defaultTimeoutSeconds : nil)
            if noWait && result.outcome != "disabled" {
                try common.print(
                    result, text: ["asked for; \(Quantity.count(result.pending)) pending"])
                return
            }
            code = SyncOutcome.exitCode(result.outcome)
            let status = code == 0 ? nil : try? client.call(Wire.GetStatus.self, .init()).status
            let text = SyncOutcome.text(result, of: wanted, status: status)
            guard code != 0 && !common.json else {
                try common.print(result, text: [text])
                return
            }
            throw Failure(text, exitCode: code)
        }
        if code != 0 { throw ExitCode(code) }
    }
}
