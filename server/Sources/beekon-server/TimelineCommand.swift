import ArgumentParser
import ServerStore

/// Which of the states of a PostgreSQL counts.
struct TimelineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline", abstract: "Go back to an older state of a PostgreSQL.",
        subcommands: [Accept.self])

    struct Accept: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Use the PostgreSQL of this address, though a later timeline of it was seen.",
            discussion:
                "For after you have gone back to an old primary on purpose. What only the newer one has is not in it. The address names one host; restart the servers afterwards."
        )

        @OptionGroup var database: DatabaseOption

        func run() throws {
            guard case .postgres(let address) = Store.Place(try database.place) else {
                throw Failure("only PostgreSQL has timelines")
            }
            do {
                print(try Store.acceptTimeline(address))
            } catch {
                throw Failure("not accepted: \(error.message)")
            }
        }
    }
}
