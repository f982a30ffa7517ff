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

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/claims", body: "{\"uses\":\(uses),\"days\":\(days)}")
            print(try Answer.read(Answer.Claim.self, bytes).code)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the codes: number, end, uses that are left. The codes themselves are not kept.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/claims")
            for claim in try Answer.read(Answer.Claims.self, bytes).claims {
                print("\(claim.id)\t\(claim.expires)\t\(claim.uses)")
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
