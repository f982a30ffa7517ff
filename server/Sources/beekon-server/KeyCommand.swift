import ArgumentParser
import Commands
import Glibc

/// The key that signs commands.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make the key that signs commands, and show its public part.",
        subcommands: [New.self, Show.self])

    struct New: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key, and print its public part, for verify_keys of the vehicles.")

        @Argument(help: "The file for the private key. It must not exist yet.")
        var file: String

        func run() async throws {
            guard let key = SigningKey() else { throw Failure("libcrypto could not make a key") }
            try KeyFile.write(key.privatePEM, to: file)
            print(key.publicPEM, terminator: "")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the public part of a key.")

        @Argument(help: "The file with the private key.")
        var file: String

        func run() async throws {
            print(try KeyFile.read(file).publicPEM, terminator: "")
        }
    }
}

/// A private key in a file.
enum KeyFile {
    /// Bytes; a key has 119.
    private static let longest = 4096

    static func read(_ path: String) throws -> SigningKey {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure("cannot open \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var room = [UInt8](repeating: 0, count: longest)
        let count = Glibc.read(descriptor, &room, room.count)
        guard count > 0, let key = SigningKey(pem: Array(room[..<count])) else {
            throw Failure(
                "\(path) is not a private Ed25519 key in PEM; 'beekon-server key new FILE' makes one")
        }
        return key
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure("cannot make \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw Failure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
