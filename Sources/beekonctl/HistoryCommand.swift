public import ArgumentParser
import ControlProtocol
import ControlTool

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Print or export the stored locations, oldest first.",
        discussion: """
            EXAMPLES:
              beekonctl history --last 2h
              beekonctl history --from 2026-06-15 --to -1h --format jsonl
              beekonctl history --format csv -o track.csv

            Locations leave the store once the server has acknowledged them, unless \
            store.keep_uploaded is true.
            """)

    @OptionGroup var common: CommonOptions

    @Option(parsing: .unconditional, help: "The first time, inclusive: ISO-8601, -2h, now or today.")
    var from: String?

    @Option(parsing: .unconditional, help: "The last time, inclusive.")
    var to: String?

    @Option(parsing: .unconditional, help: "Only the last so much time, such as 2h; instead of --from.")
    var last: String?

    @Option(help: "Only this session; beekonctl sessions lists them.")
    var session: String?

    @Option(help: "How to write them (--json is jsonl).")
    var format: HistoryWriter.Format?

    @Option(
        name: [.customShort("o"), .customLong("output")], help: "Write to this file, readable only by you.")
    var output: String?

    private var chosen: HistoryWriter.Format { format ?? (common.json ? .jsonl : .table) }

    func validate() throws {
        if last != nil && from != nil { throw ValidationError("Give --last or --from, not both.") }
        if common.json, let format, format != .jsonl {
            throw ValidationError("Give --json or --format \(format.rawValue), not both.")
        }
    }

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let parameters = try range(clock)
            var client = try common.connect()
            var writer = HistoryWriter(format: chosen, clock: clock)
            // The file is made only once the daemon has answered, so that an error leaves the old one alone.
            var sink: Output?
            var count = 0
            do {
                try client.stream(Wire.GetLocations.self, parameters, timeoutSeconds: 60) { page in
                    var output = try sink.take() ?? Output.to(output)
                    for line in try writer.lines(page.locations) { try output.line(line) }
                    try output.flush()
                    count += page.locations.count
                    sink = consume output
                    return true
                }
            } catch let failure as ClientFailure where count > 0 {
                throw Failure(
                    failure.message + "; what was written is incomplete", exitCode: failure.exitCode)
            }
            try sink.take()?.finish()
            if count == 0 { explainEmptiness() }
        }
    }

    private func range(_ clock: Clock) throws -> Wire.GetLocations.Parameters {
        var first = try interfaceTime(from, clock: clock)
        if let last {
            let seconds = try TimeArgument.duration(last)
            first = Instant(milliseconds: clock.now.milliseconds - seconds * 1000).iso
        }
        let end = try interfaceTime(to, clock: clock)
        if let first, let end, first > end {
            throw Failure("the range is empty: --from \(first) is after --to \(end)", exitCode: 64)
        }
        return .init(from: first, to: end, sessionId: session)
    }

    /// An empty answer is right and yet surprising where uploaded rows leave the store.
    private func explainEmptiness() {
        var message = "no stored locations in this range"
        let status = try? fetch(Wire.GetStatus.self).status
        let settings = try? fetch(Wire.GetConfig.self).settings
        let keeps = settings?.contains { $0.key == "store.keep_uploaded" && $0.value == .bool(true) } ?? false
        if let status, status.sync.state != .disabled, !keeps {
            message += ": rows leave the store when the server acknowledges them; "
            message += "set store.keep_uploaded = true to keep them"
        }
        CommonOptions.complain(message)
    }

    /// On a connection of its own: the first one may have ended with its stream.
    private func fetch<M: ControlMethod>(_ method: M.Type) throws -> M.Result
    where M.Parameters == Wire.Empty {
        var client = try common.connect()
        return try client.call(method, .init())
    }
}

extension HistoryWriter.Format: ExpressibleByArgument {}
