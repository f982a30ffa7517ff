import ArgumentParser
import Base
import Glibc
import ServerStore

/// A backup in the place of the database.
struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replace the SQLite database by a backup, while no server runs.",
        discussion:
            "The old database is kept beside it. If it is interrupted, run it again to finish it. PostgreSQL has programs of its own: pg_restore."
    )

    @OptionGroup var database: DatabaseOption

    @Argument(help: "A file that 'beekon-server backup' has made, or an old database that was kept.")
    var file: String

    func run() throws {
        umask(0o077)
        guard case .sqlite(let path) = Store.Place(try database.place) else {
            throw Failure("PostgreSQL is restored by pg_restore")
        }
        let old: String?
        do throws(StoreError) {
            let now = Timestamp(milliseconds: Int64(time(nil)) * 1000)
            old = try Restoration(of: path).restore(file, at: now)
        } catch {
            let hint = error.kind == .conflict && error.message.hasPrefix("another") ? ": stop it first" : ""
            throw Failure("cannot restore \(file): \(error.message)\(hint)")
        }
        print("restored: \(path)" + (old.map { "\nthe old database: \($0)" } ?? ""))
    }
}
