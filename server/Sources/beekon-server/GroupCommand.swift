import ArgumentParser
import HTTPTypes

/// Groups of vehicles, which some readers see and others do not.
struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group", abstract: "Add, list and remove groups of vehicles.",
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Add a group. 'device edit --group' puts a vehicle into it, 'user groups' lets a reader see it."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name, 1 to 100 characters.")
        var name: String

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(
                .post, "/v1/groups", body: Body.object(["name": name]))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the groups: name, vehicles in it, readers who see groups, this one among them.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/groups")
            for group in try Answer.read(Answer.Groups.self, bytes).groups {
                let vehicles = group.devices == 1 ? "vehicle" : "vehicles"
                let readers = group.readers == 1 ? "reader" : "readers"
                print("\(group.name)\t\(group.devices) \(vehicles)\t\(group.readers) \(readers)")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Remove a group. Its vehicles stay, in no group; readers who saw them by it do not see them any more."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name.")
        var name: String

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(
                .delete, "/v1/groups/\(Body.escaped(name))")
        }
    }
}
