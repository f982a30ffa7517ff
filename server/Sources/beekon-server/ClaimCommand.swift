import ArgumentParser
import HTTPTypes
import NIOCore

/// Codes for the first boot of vehicles.
struct ClaimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim", abstract: "Make, list and end codes with which vehicles enrol themselves.",
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a code, and print it. It is shown only once.")

        @OptionGroup var database: DatabaseOption

        @Option(help: ArgumentHelp("Vehicles that may enrol with it, 1…1000000.", valueName: "count"))
        var uses = 1

        @Option(help: ArgumentHelp("How long until the code expires, 1…366.", valueName: "days"))
        var days = 7

        @Option(
            help: ArgumentHelp(
                """
                What the server may ask of them, of what a vehicle gives: all, none, or names such as locate,sync \
                (default: what a vehicle gives).
                """, valueName: "names"))
        var commands: String?

        @Option(help: ArgumentHelp("What set_config may change: all, none, or names.", valueName: "names"))
        var settings: String?

        func run() async throws {
            let wishes = ["allow": commands, "settings": settings].compactMapValues { $0.map(Self.list) }
            let members = ["\"uses\":\(uses)", "\"days\":\(days)"] + wishes.map { "\"\($0)\":\($1)" }
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/claims", body: "{" + members.joined(separator: ",") + "}")
            print(try Answer.read(Answer.Claim.self, bytes).code)
        }

        /// JSON; which names there are the server says.
        private static func list(_ text: String) -> String {
            if text == "all" { return #""all""# }
            return Body.list(text == "none" ? [] : text.split(separator: ",").map(String.init))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                List the codes: number, end, uses that are left, what the server may ask. The codes themselves are not kept.
                """)

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/claims")
            for claim in try Answer.read(Answer.Claims.self, bytes).claims {
                let commands = claim.commands?.allow.map { $0.isEmpty ? "none" : $0.joined(separator: ",") }
                print("\(claim.id)\t\(claim.expires)\t\(claim.uses)\t\(commands ?? "as the vehicle gives")")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a code. Vehicles that have enrolled with it stay.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "Its number, as 'claim list' shows it.")
        var id: Int64

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(.delete, "/v1/claims/\(id)")
        }
    }
}
