import ArgumentParser
import ControlProtocol
import ControlTool
import Doctor
import Glibc

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check everything from receiver to backend, and say what is wrong and what to do.",
        discussion: """
            Posts an empty batch to each destination with the configured headers if it may read them, that is, as \
            root or as a member of group beekond. At a broker it only logs in. Where a request has one location, it \
            only connects: beekonctl destination test sends one, after asking. Where nothing is configured, sends \
            nothing anywhere.

            Exits with 0 when nothing is wrong, and with 1 otherwise.

            EXAMPLES:
              sudo beekonctl doctor
              beekonctl doctor --json | jq '.findings[] | select(.result == "failed")'
            """)

    @OptionGroup var common: CommonOptions

    @OptionGroup var configuration: ConfigurationOption

    @Option(
        help: "Its state directory (default: the one it says, else /var/lib/beekond).", completion: .directory
    )
    var stateDir: String?

    func run() throws {
        var failures = 0
        try common.run {
            let examination = Examination(
                socket: common.path, configuration: configuration.path, stateDirectory: stateDir)
            let report = Diagnosis(gatherFacts(examination))
            failures = report.failures
            let width = min(Terminal.size().columns, 100)
            try common.print(report, text: report.lines(width: width, palette: CommonOptions.palette))
        }
        if failures > 0 { throw ExitCode(1) }
    }

    /// In a function of its own, so that the progress line is cleared before the report begins.
    private func gatherFacts(_ examination: Examination) -> Facts {
        let progress = Progress.onTerminal(isBusy: false)
        return examination.facts { progress.show($0 + "…") }
    }
}
