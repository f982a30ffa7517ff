import ArgumentParser
import Envelope
import HTTPTypes
import NIOCore

/// What vehicles are told to do.
struct CommandCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Send commands to vehicles, and see their results.",
        subcommands: [Add.self, List.self, Withdraw.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Send a command. It goes with the answers to the vehicle until the vehicle has reported a result."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The device, by number.")
        var device: Int64

        @Argument(
            help:
                "start, stop, set_config, unset_config, add_geofences, remove_geofences, remove_all_geofences, set_motion, sync, locate or upload_log."
        )
        var command: String

        @Argument(help: "Its arguments, a JSON object.")
        var arguments = "{}"

        @Option(help: ArgumentHelp("How long until the command expires.", valueName: "seconds"))
        var expiresIn = 2_592_000

        func run() async throws {
            var body = Array("{\"arguments\":\(arguments),\"expires_in\":\(expiresIn),\"command\":".utf8)
            JSONString.append(command, to: &body)
            body += Array("}".utf8)
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/devices/\(device)/commands", body: String(decoding: body, as: UTF8.self))
            print(try Answer.read(Answer.Command.self, bytes).id)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the commands of a device, newest first.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The device, by number.")
        var device: Int64

        @Flag(help: "Print the server's answer, which has the results, instead.")
        var json = false

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(
                .get, "/v1/devices/\(device)/commands")
            if json { return print(String(buffer: bytes), terminator: "") }
            for command in try Answer.read(Answer.Commands.self, bytes).commands {
                print("\(command.id)\t\(command.created)\t\(command.state)\t\(command.command)")
            }
        }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Withdraw a command that has no result yet. A vehicle that has received it still carries it out."
        )

        @OptionGroup var database: DatabaseOption

        @Argument(help: "The device, by number.")
        var device: Int64

        @Argument(help: "The command, such as c-1781000000000.")
        var id: String

        func run() async throws {
            guard id.hasPrefix("c-"), id.dropFirst(2).allSatisfy(\.isNumber) else {
                throw Failure("a command's id is c- and a number")
            }
            _ = try await LocalClient(database: database.place).ask(
                .delete, "/v1/devices/\(device)/commands/\(id)")
        }
    }
}
