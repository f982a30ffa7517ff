import ArgumentParser
import HTTPTypes

/// Whether the server's clock is right.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "Show the server's clock, and say that it is right.",
        subcommands: [Show.self, Confirm.self], defaultSubcommand: Show.self)

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the clock, and the time by which what is stored grows old.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/clock")
            ClockCommand.show(try Answer.read(Answer.Clock.self, bytes))
        }
    }

    struct Confirm: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say that the clock is right, though it is more than a day ahead of what was confirmed."
        )

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.post, "/v1/clock", body: "{}")
            ClockCommand.show(try Answer.read(Answer.Clock.self, bytes))
        }
    }

    private static func show(_ clock: Answer.Clock) {
        print("clock\t\(clock.time)\nconfirmed\t\(clock.confirmed)")
    }
}
