import ArgumentParser
import ControlProtocol
import ControlTool

struct ResendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Send locations again that were uploaded and kept.",
        discussion: """
            For a backend that has lost them, or never had them. Only what store.keep_uploaded = true has \
            kept can be sent again. They keep their ids and go into new batches. Needs root or group \
            beekon-admin.

            EXAMPLES:
              beekonctl resend --from -2h
              beekonctl resend --from 2026-06-15T08:00Z --to 2026-06-15T12:00Z && beekonctl sync
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var destination: DestinationOption

    @Option(
        parsing: .unconditional,
        help: "The first time, inclusive: ISO-8601, 2h (ago), now, today or yesterday.")
    var from: String

    @Option(parsing: .unconditional, help: "The last time, inclusive; without it, there is no end.")
    var to: String?

    func run() throws {
        try common.run(for: destination.name) {
            let (first, end) = try interfaceRange(from: from, to: to, last: nil, clock: CommonOptions.clock)
            var client = try common.connect()
            let result = try resend(from: first ?? from, to: end, by: &client)
            let none =
                "nothing uploaded is kept in that time: store.keep_uploaded = true keeps what is uploaded"
            try common.print(
                result,
                text: [
                    result.requeued == 0
                        ? none
                        : "\(Quantity.count(result.requeued)) back in the queue, under their own ids: "
                            + common.whenItGoes(to: destination.name)
                ])
        }
    }

    private func resend(
        from first: String, to end: String?, by client: inout ControlClient
    ) throws -> Wire.Resend.Result {
        let progress = Progress.onTerminal(isBusy: false)
        progress.show("putting back…")
        return try client.call(
            Wire.Resend.self, .init(from: first, to: end, destination: destination.name), timeoutSeconds: 300
        ) {
            guard let pending = common.pending(of: destination.name) else { return }
            progress.show("putting back… \(Quantity.count(pending)) pending now")
        }
    }
}
