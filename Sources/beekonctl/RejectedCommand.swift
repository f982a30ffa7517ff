internal import ArgumentParser
import ControlProtocol
import ControlTool

struct RejectedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejected",
        abstract: "List, export, resend or delete what the server has rejected (dead letters).",
        discussion: """
            A batch that the server answers with 400 or 422 leaves the queue; its locations are kept for 7 days. \
            Each destination has dead letters of its own.

            EXAMPLES:
              beekonctl rejected list
              beekonctl rejected export --format csv -o rejected.csv
              beekonctl rejected retry
            """,
        subcommands: [List.self, Export.self, Retry.self, Purge.self])

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the rejected locations, earliest rejection first.",
            discussion: """
                EXAMPLE:
                  beekonctl rejected list --json | jq -r .batch_id | sort | uniq -c
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var destination: DestinationOption

        func run() throws {
            try common.run(for: destination.name) {
                let count = try export(
                    of: destination.name, as: common.json ? .jsonl : .table, to: nil, common)
                if count == 0 { CommonOptions.warn("nothing has been rejected") }
            }
        }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write the rejected locations to a file.",
            discussion: """
                jsonl includes events; csv does not, and reports how many it leaves out.

                EXAMPLE:
                  beekonctl rejected export --format csv -o rejected.csv
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var destination: DestinationOption

        @Option(help: "Output format.")
        var format: RejectedWriter.Format?

        @Option(
            name: [.customShort("o"), .customLong("output")],
            help: "Write to this file, readable only by you.")
        var output: String?

        func validate() throws {
            if common.json, let format, format != .jsonl {
                throw ValidationError("Give --json or --format \(format.rawValue), not both.")
            }
        }

        func run() throws {
            try common.run(for: destination.name) {
                guard try export(of: destination.name, as: format ?? .jsonl, to: output, common) == 0 else {
                    return
                }
                CommonOptions.warn(
                    "nothing has been rejected" + (output == nil ? "" : ", so no file was written"))
            }
        }
    }

    struct Retry: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry",
            abstract: "Put the rejected locations back into the queue, and upload at once.",
            discussion: """
                Use this once the server has been fixed. Locations keep their ids, so the server can recognise duplicates.

                EXAMPLE:
                  beekonctl rejected retry && beekonctl sync
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var destination: DestinationOption

        func run() throws {
            try common.run(for: destination.name) {
                var client = try common.connect()
                let result = try retry(by: &client)
                try common.print(
                    result,
                    text: [
                        result.requeued == 0
                            ? "nothing has been rejected"
                            : "\(Quantity.count(result.requeued)) back in the queue: "
                                + common.whenItGoes(to: destination.name)
                    ])
            }
        }

        private func retry(by client: inout ControlClient) throws -> Wire.RetryRejected.Result {
            let progress = Progress.onTerminal(isBusy: false)
            progress.show("putting back…")
            return try client.call(
                Wire.RetryRejected.self, .init(destination: destination.name), timeoutSeconds: 300
            ) {
                guard let pending = common.pending(of: destination.name) else { return }
                progress.show("putting back… \(Quantity.count(pending)) pending now")
            }
        }
    }

    struct Purge: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "purge", abstract: "Permanently delete the rejected locations.",
            discussion: """
                Requires root or group beekon-admin.

                EXAMPLE:
                  beekonctl rejected export -o rejected.jsonl && beekonctl rejected purge --yes
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var destination: DestinationOption

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        func run() throws {
            try common.run(for: destination.name) {
                var client = try common.connect()
                if !yes {
                    let whose = destination.name.map { " of \(Text.safe($0))" } ?? ""
                    try confirm("Delete ALL rejected locations\(whose)?")
                }
                let result = try client.call(
                    Wire.PurgeRejected.self, .init(destination: destination.name), timeoutSeconds: 300)
                try common.print(result, text: ["\(Quantity.count(result.removed)) removed"])
            }
        }
    }
}

/// Writes all dead letters of a destination to a file or to standard output, and returns their number.
private func export(
    of destination: String?, as format: RejectedWriter.Format, to path: String?, _ common: CommonOptions
) throws -> Int {
    var client = try common.connect()
    let isFile = path != nil && path != "-"
    let columns = isFile ? nil : CommonOptions.columns
    var writer = RejectedWriter(format: format, clock: CommonOptions.clock, columns: columns)
    let progress = Progress.onTerminal(isBusy: !isFile && columns != nil)
    // The file is created only once the daemon has answered, so that an error leaves an existing one untouched.
    var sink: Output?
    var count = 0
    do {
        try client.stream(
            Wire.GetRejected.self, .init(destination: destination), timeoutSeconds: 60
        ) { page in
            var output = try sink.take() ?? Output.to(path)
            for line in try writer.lines(page.rejected) { try output.line(line) }
            try output.flush()
            count += page.rejected.count
            progress.show("\(Quantity.count(count)) rejected")
            sink = consume output
            return true
        }
    } catch let failure as ClientFailure where count > 0 {
        throw Failure(failure.message + "; what was written is incomplete", exitCode: failure.exitCode)
    }
    try sink.take()?.finish()
    progress.show("")
    // An empty list is also what one gets for a name that does not exist.
    if count == 0, destination != nil {
        _ = try client.call(Wire.GetStatus.self, .init()).status.destination(named: destination)
    }
    if writer.leftOut > 0 {
        let events =
            writer.leftOut == 1 ? "1 geofence event" : "\(Quantity.count(writer.leftOut)) geofence events"
        CommonOptions.warn("\(events) left out: csv holds locations alone, --format jsonl has both")
    }
    return count
}

extension RejectedWriter.Format: ExpressibleByArgument {}
