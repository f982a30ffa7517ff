import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what beekond is doing, what is wrong and what to do.",
        discussion: """
            EXAMPLES:
              beekonctl status
              beekonctl status --watch
              beekonctl status --json | jq .sync.pending
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Refresh every second until Ctrl-C; with --json, one object per line.")
    var watch = false

    /// Seconds. Ctrl-C must not be delayed by a daemon that has stopped answering.
    private static let timeout = 3.0

    func run() throws {
        var ending: Int32 = 0
        try common.run {
            guard watch else {
                var client = try common.connect()
                let status = try client.call(Wire.GetStatus.self, .init()).status
                return try common.print(status, text: screen(status))
            }
            ending = try follow()
        }
        if ending != 0 { throw ExitCode(128 + ending) }
    }

    private func screen(_ status: Wire.Status, rows: Int? = nil) -> [String] {
        StatusScreen(status, clock: CommonOptions.clock, palette: CommonOptions.palette).lines(rows: rows)
    }

    /// - Returns: the signal that ended it.
    private func follow() throws -> Int32 {
        var client: ControlClient? = try common.connect()
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
                    try live.draw(screen(status, rows: Terminal.canRedraw ? Terminal.size().rows - 1 : nil))
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
