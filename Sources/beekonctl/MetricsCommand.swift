import ArgumentParser
import ControlProtocol
import ControlTool

struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print metrics in the text format of Prometheus.",
        discussion: """
            With --textfile it writes them for the textfile collector of node_exporter: atomically, readable by \
            everybody, and beekond_up 0 alone when beekond does not answer. The timer beekond-metrics.timer does \
            so every half minute.

            EXAMPLES:
              beekonctl metrics | grep pending
              sudo beekonctl metrics --textfile /var/lib/prometheus/node-exporter/beekond.prom
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Write to this file for node_exporter, even when beekond is gone.", completion: .file())
    var textfile: String?

    /// Seconds. A daemon that hangs is as good as none.
    private static let timeout = 10.0

    func validate() throws {
        if common.json, textfile != nil { throw ValidationError("Give --json or --textfile, not both.") }
    }

    func run() throws {
        try common.run {
            guard let textfile else {
                let answer = try ask()
                return try common.print(
                    answer, isFormat: true, text: MetricsText(answer.status, answer.counters).lines())
            }
            var lines: [String]
            do {
                let answer = try ask()
                lines = MetricsText(answer.status, answer.counters).lines()
            } catch {
                guard let failure = Failure(error) else { throw error }
                CommonOptions.warn(failure.message)
                lines = MetricsText.down()
            }
            var output = try Output(path: textfile, isPublic: true)
            for line in lines { try output.line(line) }
            try output.finish()
        }
    }

    private func ask() throws -> Wire.GetMetrics.Result {
        var client = try common.connect()
        return try client.call(Wire.GetMetrics.self, .init(), timeoutSeconds: Self.timeout)
    }
}
