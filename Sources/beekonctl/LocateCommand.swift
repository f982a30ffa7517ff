import ArgumentParser
import ControlProtocol
import ControlTool

struct LocateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "locate",
        abstract: "Get one position now, whether tracking or not; it is not stored.",
        discussion: """
            Exits with 0 for a position, 1 if none arrived in time, and 69 if none can arrive because gpsd cannot be \
            reached or has no receiver.

            EXAMPLES:
              beekonctl locate
              beekonctl locate --accuracy 10 --timeout 60 --json
              beekonctl locate --max-age 30
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "How long to wait, in seconds, 0 to 3600 (default: 15).")
    var timeout: Double?

    @Option(name: .customLong("max-age"), help: "Accept a position up to this old, in seconds (default: 0).")
    var maxAge: Double?

    @Option(help: "Accept only a position at least this accurate, in metres.")
    var accuracy: Double?

    func validate() throws {
        if let timeout, !(0...3600).contains(timeout) {
            throw ValidationError("--timeout is 0 to 3600 seconds.")
        }
        if let maxAge, !(0...31_536_000).contains(maxAge) {
            throw ValidationError("--max-age is 0 to 31536000 seconds.")
        }
        if let accuracy, !(accuracy > 0) { throw ValidationError("--accuracy is more than 0 metres.") }
    }

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(
                Wire.GetCurrentLocation.self,
                .init(timeoutSeconds: timeout, maxAgeSeconds: maxAge, accuracyMeters: accuracy),
                timeoutSeconds: (timeout ?? 15) + ControlClient.defaultTimeoutSeconds)
            guard let location = result.location else {
                if common.json { try common.print(result, text: []) }
                throw Failure(
                    "no position came in time: see beekonctl status, or give a longer --timeout", exitCode: 1)
            }
            let clock = CommonOptions.clock
            try common.print(
                result, text: [LocationText.line(location, clock: clock, units: common.units())])
        }
    }
}
