import ArgumentParser
import ControlProtocol
import ControlTool

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Upload what is pending now, and report the outcome.",
        discussion: """
            Exits with 0 when nothing is left and nothing was refused, 65 when the server has refused locations \
            for good, also when the rest waits for something that passes, 75 when it cannot be reached or is \
            busy at the moment, 76 when retrying will not change its answer, 77 when it refuses the credentials, 78 when no upload is \
            configured.

            Without NAME all destinations are asked to try, and the outcome is that of main; where main has no \
            url, the worst of the others. With --all they are waited for, all of them, and the outcome is the worst.

            With --rebatch, a batch that failed three times in a row for its size or its time (413, 408, or \
            a time-out after bytes were sent) is dissolved first, and its rows go into batches of the present \
            sync.batch_size, or that of its destination: lower that before. If the server has stored the batch all the same, its rows \
            arrive twice, under two batch ids. Needs root or group beekon-admin.

            EXAMPLES:
              beekonctl sync
              beekonctl sync home
              beekonctl sync --all
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

    @Flag(help: "Wait for all destinations, and report the worst outcome.")
    var all = false

    @Flag(name: .customLong("no-wait"), help: "Request the upload without waiting for it.")
    var noWait = false

    @Flag(help: "First dissolve a batch that is too large for the link or the server.")
    var rebatch = false

    private var wanted: String? { name ?? destination }

    func validate() throws {
        if let name, let destination, name != destination {
            throw ValidationError("Name one destination, not two.")
        }
        if all, wanted != nil { throw ValidationError("--all is for all destinations: name none.") }
        if all, rebatch {
            throw ValidationError("--rebatch is for the batch of one destination: name it, without --all.")
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
            let result = try sync(&client)
            if noWait && result.outcome != "disabled" {
                try common.print(
                    result, text: ["asked for; \(Quantity.count(result.pending)) pending"])
                return
            }
            code = SyncOutcome.exitCode(result.outcome)
            guard code != 0 && !common.json else {
                try common.print(result, text: [SyncOutcome.text(result, of: wanted ?? result.destination)])
                return
            }
            throw Failure(
                SyncOutcome.text(
                    result, of: wanted ?? result.destination,
                    url: url(of: wanted ?? result.destination, &client)),
                exitCode: code)
        }
        if code != 0 { throw ExitCode(code) }
    }

    private func sync(_ client: inout ControlClient) throws -> Wire.Sync.Result {
        let progress = Progress.onTerminal(isBusy: false)
        return try client.call(
            Wire.Sync.self, .init(wait: !noWait, destination: wanted, all: all ? true : nil),
            timeoutSeconds: noWait ? ControlClient.defaultTimeoutSeconds : nil
        ) {
            guard let pending = common.pending(of: wanted, all: all) else { return }
            progress.show("uploading… \(Quantity.count(pending)) pending")
        }
    }

    /// Where a destination is, as it may be shown; nil when that cannot be asked.
    private func url(of name: String?, _ client: inout ControlClient) -> String? {
        let settings = try? client.call(Wire.GetConfig.self, .init()).settings
        let key = DestinationNames(name).table + ".url"
        let url = settings?.first { $0.key == key }?.value.stringValue
        return url?.isEmpty == false ? url : nil
    }
}
