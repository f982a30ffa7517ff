import ArgumentParser
import HTTPTypes

/// Whether the server's clock is right.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "Show the server's clock, or confirm it.",
        subcommands: [Show.self, Confirm.self], defaultSubcommand: Show.self)

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the clock, and the time by which stored data expires.")

        @OptionGroup var database: DatabaseOption

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/clock")
            ClockCommand.show(try Answer.read(Answer.Clock.self, bytes))
        }
    }

    struct Confirm: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Confirm the clock, though it is more than a day ahead of the confirmed time."
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
