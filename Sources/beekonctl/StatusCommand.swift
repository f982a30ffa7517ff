import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what beekond is doing, what is wrong and what to do.",
        discussion: """
            With --check it prints a word and the problems, a line each, and exits with 0 when all is well, 1 when something \
            wants attention, 2 when fixes do not come, are not stored or are refused, and 3 when beekond does not answer.

            EXAMPLES:
              beekonctl status
              beekonctl status --watch
              beekonctl status --check || mail -s "van 7" fleet@example.com
              beekonctl status --json | jq .sync.pending
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Refresh every second until Ctrl-C; with --json, one object per line.")
    var watch = false

    @Flag(help: "Say in the exit code whether all is well (0, 1, 2, 3).")
    var check = false

    func validate() throws {
        if check && watch { throw ValidationError("Give --check or --watch, not both.") }
    }

    /// Seconds. Ctrl-C must not be delayed by a daemon that has stopped answering.
    private static let timeout = 3.0

    func run() throws {
        var ending: Int32 = 0
        if check { return try runCheck() }
        try common.run {
            guard watch else {
                var client = try common.connect()
                let status = try client.call(Wire.GetStatus.self, .init()).status
                return try common.print(status, text: screen(status, common.units()))
            }
            ending = try follow()
        }
        if ending != 0 { throw ExitCode(128 + ending) }
    }

    private func runCheck() throws {
        var code: Int32 = 0
        try common.run {
            let found = try health()
            code = found.exitCode
            // The words of what cannot be asked are an error's, those of what was found the result.
            let isUnreachable = found.exitCode == 3
            if isUnreachable { for problem in found.problems { CommonOptions.warn(problem) } }
            if common.json || !isUnreachable { try common.print(found, text: found.lines) }
        }
        if code != 0 { throw ExitCode(code) }
    }

    private func health() throws -> HealthCheck {
        do {
            var client = try common.connect()
            let status = try client.call(Wire.GetStatus.self, .init()).status
            return HealthCheck(status, clock: CommonOptions.clock)
        } catch let failure as ClientFailure {
            return HealthCheck(failure.kind, message: failure.message)
        }
    }

    private func screen(_ status: Wire.Status, _ units: Units, rows: Int? = nil) -> [String] {
        StatusScreen(
            status, clock: CommonOptions.clock, palette: CommonOptions.palette, units: units,
            width: CommonOptions.columns ?? 80
        ).lines(rows: rows)
    }

    /// - Returns: the signal that ended it.
    private func follow() throws -> Int32 {
        var client: ControlClient? = try common.connect()
        let units = common.units()
        let live = LiveScreen(canRedraw: Terminal.canRedraw && !common.json)
        while true {
            do {
                var link = try client.take() ?? common.connect()
                let status = try link.call(Wire.GetStatus.self, .init(), timeoutSeconds: Self.timeout).status
                client = consume link
                if common.json {
                    try common.print(status, text: [])
                } else {
                    // The last row is the cursor's.
                    try live.draw(
                        screen(status, units, rows: Terminal.canRedraw ? Terminal.size().rows - 1 : nil))
                }
            } catch let failure as ClientFailure {
                // A daemon that is restarting will be back.
                try showUnreachable(failure, live)
            }
            if case .end(let number) = live.wait() { return number }
        }
    }

    private func showUnreachable(_ failure: ClientFailure, _ live: borrowing LiveScreen) throws {
        if common.json { return CommonOptions.warn(failure.message) }
        let palette = CommonOptions.palette
        try live.draw(
            [palette.bad("No answer from beekond"), ""] + Text.wrap(Text.safe(failure.message), width: 78)
                + ["", palette.faint("Trying again every second; Ctrl-C ends.")])
    }
}
