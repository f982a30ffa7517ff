import FoundationEssentials
import Glibc
import Support

/// One way in which a state directory can be damaged.
struct Damage {
    let name: String
    let apply: (Folder) throws -> Void

    /// Everything the corpus knows to do to the files of `folder`, which holds a database with pages of 1024 bytes, and
    /// maybe a WAL.
    static func corpus(for files: [String: [UInt8]], using random: inout SeededGenerator) -> [Damage] {
        var corpus: [Damage] = []
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            corpus += truncations(of: name, count: bytes.count)
            corpus += pages(of: name, count: bytes.count, using: &random)
            corpus += flips(in: name, count: bytes.count, using: &random)
        }
        return corpus + replacements(using: &random) + companions(using: &random) + strangers()
    }

    private static func changing(_ name: String, _ what: String, _ change: @escaping (inout [UInt8]) -> Void)
        -> Damage
    {
        Damage(name: "\(name) \(what)") { folder in
            var bytes = try folder.read(name)
            change(&bytes)
            try folder.write(name, bytes)
        }
    }

    private static func truncations(of name: String, count: Int) -> [Damage] {
        let sizes = [
            0, 1, 15, 16, 24, 32, 99, 100, 511, 512, 1023, 1024, 1025, 1080, 2048, count - 1024, count - 1,
        ]
        let regular = stride(from: 4096, to: count, by: max(1024, count / 16 / 1024 * 1024))
        return Set(sizes + Array(regular)).sorted().filter { 0..<count ~= $0 }.map { size in
            changing(name, "truncated to \(size)") { $0.removeLast($0.count - size) }
        }
    }

    /// Whole pages (or, in a WAL, stretches across frames) become zero, noise, or a copy of another.
    private static func pages(of name: String, count: Int, using random: inout SeededGenerator) -> [Damage] {
        let offsets = stride(from: 0, to: count - 1024, by: max(1024, count / 24 / 1024 * 1024))
        return offsets.flatMap { offset in
            let noise = (0..<1024).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            return [
                changing(name, "zero at \(offset)") {
                    $0.replaceSubrange(offset..<offset + 1024, with: [UInt8](repeating: 0, count: 1024))
                },
                changing(name, "noise at \(offset)") {
                    $0.replaceSubrange(offset..<offset + 1024, with: noise)
                },
                changing(name, "first page copied to \(offset)") {
                    $0.replaceSubrange(offset..<offset + 1024, with: Array($0[..<1024]))
                },
            ]
        }
    }

    /// One bit in every byte of the header, and bits anywhere.
    private static func flips(in name: String, count: Int, using random: inout SeededGenerator) -> [Damage] {
        let header = 0..<min(count, name.hasSuffix("-wal") ? 56 : 100)
        // A WAL may be empty, after a deletion.
        let anywhere = count == 0 ? 0 : Effort.isLong ? 400 : 60
        let offsets = Array(header) + (0..<anywhere).map { _ in Int.random(in: 0..<count, using: &random) }
        return offsets.map { offset in
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            return changing(name, "bit \(bit) of byte \(offset) flipped") { $0[offset] ^= bit }
        }
    }

    /// Something else stands where the database should.
    private static func replacements(using random: inout SeededGenerator) -> [Damage] {
        let noise = (0..<65536).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let elf =
            (try? Data(contentsOf: URL(filePath: "/proc/self/exe")).prefix(100_000)).map { [UInt8]($0) } ?? []
        let contents: [(String, [UInt8])] = [
            ("empty", []), ("text", Array("ts,lat,lng\n1700000000000,47.5,8.5\n".utf8)), ("an ELF file", elf),
            ("zeros", [UInt8](repeating: 0, count: 20480)),
            ("the magic alone", Array("SQLite format 3\0".utf8)),
            ("the magic and noise", Array("SQLite format 3\0".utf8) + noise),
        ]
        let random = [1, 100, 512, 2048, 65536].map { ("\($0) random bytes", Array(noise.prefix($0))) }
        return (contents + random).map { what, bytes in
            Damage(name: "database is \(what)") { try $0.write("beekon.db", bytes) }
        }
    }

    /// The files beside the database are not what they should be.
    private static func companions(using random: inout SeededGenerator) -> [Damage] {
        let noise = (0..<40960).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let missing = Damage(name: "database is missing") { unlink($0.database) }
        let noises = ["-wal", "-shm", "-journal"].map { suffix in
            Damage(name: "noise as \(suffix)") { try $0.write("beekon.db" + suffix, noise) }
        }
        let directories = ["", "-wal", "-shm", "-journal"].map { suffix in
            Damage(name: "directory as \(suffix)") { folder in
                unlink(folder.database + suffix)
                mkdir(folder.database + suffix, 0o700)
                try folder.write("beekon.db\(suffix)/file", [1])
            }
        }
        let links = ["", "-wal", "-shm"].flatMap { suffix in
            [
                ("to nowhere", "/nonexistent/file"), ("to itself", "beekon.db" + suffix),
                ("to text", "/etc/passwd"),
            ]
            .map { what, target in
                Damage(name: "\(suffix) is a link \(what)") { folder in
                    unlink(folder.database + suffix)
                    symlink(target, folder.database + suffix)
                }
            }
        }
        let pipe = Damage(name: "database is a pipe") { folder in
            unlink(folder.database)
            mkfifo(folder.database, 0o600)
        }
        return [missing, pipe] + noises + directories + links
    }
}
