import ArgumentParser
import ServerStore

/// Spreads the rows of vehicles over several PostgreSQL.
struct Distribute: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Distribute the rows of vehicles over the workers of Citus.",
        discussion:
            "The address is that of the coordinator, which has the extension citus and knows its workers. Makes the tables unless they are there, and sets what Citus needs to be fast; what is done already is left as it is. Servers connect anew afterwards."
    )

    @OptionGroup var database: DatabaseOption

    @Option(help: ArgumentHelp("Shards of each table; otherwise four for each worker.", valueName: "number"))
    var shards: Int?

    func validate() throws {
        guard shards.map({ (1...1000).contains($0) }) ?? true else {
            throw ValidationError("--shards is a number within 1…1000.")
        }
    }

    func run() throws {
        guard case .postgres(let address) = Store.Place(try database.place) else {
            throw Failure("only PostgreSQL with Citus can be distributed: --database postgres://…")
        }
        do {
            print(try Store.distribute(address, shards: shards))
        } catch {
            throw Failure("not distributed: \(error.message)")
        }
    }
}
