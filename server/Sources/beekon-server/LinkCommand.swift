import ArgumentParser
import HTTPTypes
import NIOCore

/// Links that show one vehicle to who has no account.
struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Make, list and end links that show where one vehicle is.",
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Make a link, and print it. It is shown this once. Whoever has it sees where the vehicle is, from now on."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The vehicle's number, as 'device list' shows it.")
        var device: Int64

        @Option(help: ArgumentHelp("It ends after so long, 1…72.", valueName: "hours"))
        var hours = 24

        @Option(help: ArgumentHelp("The server as browsers reach it.", valueName: "url"))
        var url = "http://127.0.0.1:8080"

        @Flag(help: "Print the server's answer instead.")
        var json = false

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/devices/\(device)/links", body: "{\"hours\":\(hours)}")
            if json { return print(String(buffer: bytes), terminator: "") }
            var base = url
            while base.hasSuffix("/") { base.removeLast() }
            print(base + (try Answer.read(Answer.NewLink.self, bytes).path))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the links of a vehicle: number, end, who made it. The links themselves are not kept.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The vehicle's number.")
        var device: Int64

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(
                .get, "/v1/devices/\(device)/links")
            for link in try Answer.read(Answer.Links.self, bytes).links {
                print("\(link.id)\t\(link.expires)\t\(link.author)")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End a link, at once.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The vehicle's number.")
        var device: Int64

        @Argument(help: "The link's number, as 'link list' shows it.")
        var id: Int64

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(
                .delete, "/v1/devices/\(device)/links/\(id)")
        }
    }
}
