import ArgumentParser
import ControlProtocol
import ControlTool

struct DestinationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destinations",
        abstract: "List where locations are sent: state, backlog and last success of each destination.",
        discussion: """
            main is [sync]; each table [destination.NAME] is one more. An orphaned one is no longer \
            configured: its backlog is kept until it is configured again, or forgotten. OLDEST and LAST SUCCESS are ages. \
            beekonctl status says what is wrong.

            EXAMPLES:
              beekonctl destinations
              beekonctl destinations --json | jq '.destinations[] | select(.orphaned).name'
            """)

    /// What `--json` prints.
    private struct Listing: Encodable {
        let destinations: [Wire.Destination]
    }

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let destinations = try client.call(Wire.GetStatus.self, .init()).status.destinations
            try common.print(
                Listing(destinations: destinations),
                text: DestinationText.table(
                    destinations, clock: CommonOptions.clock, palette: CommonOptions.palette,
                    columns: CommonOptions.columns))
        }
    }
}
