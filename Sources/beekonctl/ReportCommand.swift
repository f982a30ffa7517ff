import ArgumentParser
import ControlTool
import Doctor
import Glibc

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write one archive with what support needs to know.",
        discussion: """
            Status, metrics, doctor's findings, the settings with secrets masked, versions, the journal of the last \
            day, and facts about the database: a tar.gz. No positions, geofences or extras, unless --with-track says \
            so. It holds what you may read, and says what you may not: root reads all of it.

            EXAMPLES:
              sudo beekonctl report -o report.tar.gz
              tar tzf report.tar.gz
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file, readable only by you; it appears only when complete.", completion: .file())
    var output: String

    @Flag(help: "Include the locations of the last day, geofences and extras.")
    var withTrack = false

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        try common.run {
            if output == "-", isatty(STDOUT_FILENO) == 1 {
                throw Failure("an archive cannot be shown on a terminal: give -o FILE", exitCode: 64)
            }
            let report = SupportReport(
                socket: common.path, configuration: configuration.path, hasTrack: withTrack)
            let (archive, gaps) = try make(report)
            var file = try Output.to(output)
            file.add(archive)
            try file.finish()
            for gap in gaps { CommonOptions.warn("not in the report: \(Text.safe(gap))") }
        }
    }

    /// In a function of its own, so that the progress line is cleared before anything else is said.
    private func make(_ report: SupportReport) throws -> (archive: [UInt8], gaps: [String]) {
        let progress = Progress.onTerminal(isBusy: false)
        return try report.make { progress.show($0 + "…") }
    }
}
