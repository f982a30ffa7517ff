import ArgumentParser
import ControlProtocol
import ControlTool
import Doctor
import Glibc

struct DestinationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destination",
        abstract: "Test a destination, backfill a new one, or forget one that is gone.",
        subcommands: [Test.self, Backfill.self, Forget.self])

    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Send one harmless request to a destination, and explain the answer.",
            discussion: """
                An empty batch; where a request has one location (owntracks, osmand, and template with \
                batch_size 1), the newest, which the server stores once more: so it asks first. At a broker it \
                subscribes to the topic, publishes there, and waits for its message to come back; whether \
                anybody else subscribes, that does not show. Sent by beekonctl itself, with the configured \
                headers and certificates, but without tokens, which only beekond has. Requires root or group \
                beekond, who may read the configuration. Exits with 1 unless it is accepted and, at a broker, \
                comes back.

                EXAMPLES:
                  sudo beekonctl destination test main
                  sudo beekonctl destination test traccar --yes
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "Its name.", completion: .destinations)
        var name: String

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        @OptionGroup var configuration: ConfigurationOption

        func run() throws {
            var isAccepted = false
            try common.run(for: name) {
                let trial = try DestinationTrial(
                    to: name, socket: common.path, configuration: configuration.path)
                if !yes, let question = trial.question {
                    try confirm(Text.safe(question), to: "send it", refusal: "nothing sent")
                }
                let result = try trial.run()
                isAccepted = result.accepted
                try common.print(result, text: [result.text])
            }
            if !isAccepted { throw ExitCode(1) }
        }
    }

    struct Backfill: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "backfill",
            abstract: "Send a destination what was stored before it was added, too.",
            discussion: """
                A new destination gets what is stored from then on. This also queues the older locations that are \
                still stored, but none that were queued for it before. Requires root or group beekon-admin.

                EXAMPLES:
                  beekonctl destination backfill home
                  beekonctl destination backfill home --from -7d && beekonctl sync home
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "Its name.", completion: .destinations)
        var name: String

        @Option(
            parsing: .unconditional,
            help: "The first time, inclusive: ISO-8601, 2h (ago), now, today or yesterday; without it, all.")
        var from: String?

        func run() throws {
            try common.run(for: name) {
                let first = try interfaceTime(from, clock: CommonOptions.clock)
                var client = try common.connect()
                let result = try backfill(from: first, by: &client)
                try common.print(
                    result,
                    text: [
                        result.added == 0
                            ? "nothing to add: all that is stored of that time has been queued for \(name) before"
                            : "\(Quantity.count(result.added)) more pending for \(name): \(common.whenItGoes(to: name))"
                    ])
            }
        }

        private func backfill(
            from first: String?, by client: inout ControlClient
        ) throws -> Wire.BackfillDestination.Result {
            let progress = Progress.onTerminal(isBusy: false)
            progress.show("adding…")
            return try client.call(
                Wire.BackfillDestination.self, .init(destination: name, from: first), timeoutSeconds: 300
            ) {
                guard let pending = common.pending(of: name) else { return }
                progress.show("adding… \(Quantity.count(pending)) pending now")
            }
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget",
            abstract: "Give up the backlog of a destination that is no longer configured.",
            discussion: """
                Deletes its backlog, frozen batches and dead letters, and the locations that no other \
                destination is to get. First take its table out of the configuration, and run beekonctl \
                reload. Requires root or group beekon-admin.

                EXAMPLE:
                  beekonctl destination forget home
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "Its name.", completion: .destinations)
        var name: String

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        func run() throws {
            try common.run(for: name) {
                var client = try common.connect()
                let orphan = try client.call(Wire.GetStatus.self, .init()).status.orphan(named: name)
                if !yes { try confirm(DestinationText.question(orphan)) }
                let result = try forget(&client)
                try common.print(
                    result, text: ["\(name) forgotten, \(Quantity.count(result.removed)) removed"])
            }
        }

        /// Shortly after the table has gone, its last request may still be ending.
        private func forget(_ client: inout ControlClient) throws -> Wire.ForgetDestination.Result {
            var triesLeft = 10
            while true {
                do {
                    return try client.call(
                        Wire.ForgetDestination.self, .init(destination: name), timeoutSeconds: 300)
                } catch ControlError.rateLimited(let seconds) where triesLeft > 0 {
                    triesLeft -= 1
                    poll(nil, 0, Int32(clamping: min(max(seconds, 1), 10)) * 1000)
                }
            }
        }
    }
}
