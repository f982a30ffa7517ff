import ArgumentParser
import Envelope
import Glibc
import HTTPTypes

/// A copy of the database while it is in use.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the SQLite database, as of one moment, while the server runs.",
        discussion: "PostgreSQL has programs of its own for it: pg_dump, pg_basebackup.")

    @OptionGroup var database: DatabaseOption

    @Argument(help: "The file for the copy. It must not exist yet; the server writes it, with its rights.")
    var file: String

    func run() async throws {
        let place = try database.place
        guard LocalClient.path(of: place) != nil else {
            throw Failure("PostgreSQL is backed up by pg_dump or pg_basebackup")
        }
        let path = file.hasPrefix("/") ? file : Self.directory + "/" + file
        guard access(path, F_OK) != 0 else { throw Failure("\(path) exists already") }
        // A copy that was interrupted does not bear the name.
        let part = path + ".part"
        unlink(part)
        var body = Array("{\"path\":".utf8)
        JSONString.append(part, to: &body)
        body += Array("}".utf8)
        _ = try await LocalClient(database: place).ask(
            .post, "/v1/backup", body: String(decoding: body, as: UTF8.self))
        try Self.sync(part)
        guard rename(part, path) == 0 else {
            throw Failure("cannot rename \(part): \(String(cString: strerror(errno)))")
        }
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        try Self.sync(slash == path.startIndex ? "/" : String(path[..<slash]))
    }

    private static var directory: String {
        guard let text = getcwd(nil, 0) else { return "" }
        defer { free(text) }
        return String(cString: text)
    }

    /// The disk has it: VACUUM INTO does not wait for that.
    private static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw Failure("cannot sync \(path): \(String(cString: strerror(errno)))")
        }
        close(descriptor)
    }
}
