import ArgumentParser
import HTTPTypes

/// The verbs about users, who may read.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Add, list and remove users of the interface.",
        subcommands: [Add.self, List.self, Groups.self, Password.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user, and print the token, which is shown only once.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name, 1 to 100 characters.")
        var name: String

        @Option(help: "reader sees devices; admin sees all of them, and makes and ends them, too.")
        var role = "reader"

        @Option(
            help: ArgumentHelp(
                "A group of vehicles that a reader sees, and no others but those of more such options; without it, all.",
                valueName: "name"))
        var group: [String] = []

        func run() async throws {
            var body = Body.object(["role": role, "name": name])
            if !group.isEmpty { body = body.dropLast() + ",\"groups\":\(Body.list(group))}" }
            let bytes = try await LocalClient(database: database.place).ask(.post, "/v1/users", body: body)
            print(try Answer.read(Answer.NewUser.self, bytes).token)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the users.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/users")
            for user in try Answer.read(Answer.Users.self, bytes).users {
                let seen = user.groups.map { $0.isEmpty ? "no vehicle" : $0.joined(separator: ", ") }
                print("\(user.role)\t\(user.name)\t\(seen ?? "all vehicles")")
            }
        }
    }

    struct Groups: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a reader see the vehicles of some groups, and no others; or all.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name.")
        var name: String

        @Argument(help: "Names of the groups.")
        var groups: [String] = []

        @Flag(help: "All vehicles, whatever their group.")
        var all = false

        @Flag(help: "No vehicle.")
        var none = false

        func validate() throws {
            guard (all ? 1 : 0) + (none ? 1 : 0) + (groups.isEmpty ? 0 : 1) == 1 else {
                throw ValidationError("Say names of groups, or --all, or --none.")
            }
        }

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(
                .put, UserCommand.path(of: name) + "/groups",
                body: "{\"groups\":\(all ? "\"all\"" : Body.list(groups))}")
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a user; the token ends at once.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name.")
        var name: String

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(.delete, UserCommand.path(of: name))
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a user a password, for logging in with a browser. It is read from standard input."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name.")
        var name: String

        func run() async throws {
            guard let password = Terminal.secret("Password: ") else {
                throw Failure("there is no password on standard input")
            }
            _ = try await LocalClient(database: database.place).ask(
                .put, UserCommand.path(of: name) + "/password", body: Body.object(["password": password]))
        }
    }

    /// The path of a user.
    private static func path(of name: String) -> String { "/v1/users/" + Body.escaped(name) }
}
