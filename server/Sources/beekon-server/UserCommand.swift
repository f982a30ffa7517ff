import ArgumentParser
import Envelope
import HTTPTypes

/// Who may read.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Add, list and remove users of the interface.",
        subcommands: [Add.self, List.self, Password.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user, and print the token, which is shown only once.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The name, 1 to 100 characters.")
        var name: String

        @Option(help: "reader sees all devices; admin makes and revokes them, too.")
        var role = "reader"

        func run() async throws {
            var body = Array("{\"role\":".utf8)
            JSONString.append(role, to: &body)
            body += Array(",\"name\":".utf8)
            JSONString.append(name, to: &body)
            body += Array("}".utf8)
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/users", body: String(decoding: body, as: UTF8.self))
            print(try Answer.read(Answer.NewUser.self, bytes).token)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the users.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/users")
            for user in try Answer.read(Answer.Users.self, bytes).users {
                print("\(user.role)\t\(user.name)")
            }
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
            var body = Array("{\"password\":".utf8)
            JSONString.append(password, to: &body)
            body += Array("}".utf8)
            _ = try await LocalClient(database: database.place).ask(
                .put, UserCommand.path(of: name) + "/password", body: String(decoding: body, as: UTF8.self))
        }
    }

    /// The path of a user, whose name may have any characters.
    private static func path(of name: String) -> String {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let escaped = name.utf8.map { byte in
            unreserved.contains(byte)
                ? String(Unicode.Scalar(byte))
                : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "/v1/users/" + escaped.joined()
    }
}
