internal import DaemonConfiguration
internal import Glibc
internal import Linux

/// A copy of the configuration files as they last were good, kept in the state directory, so that a typing error in a van
/// that nobody can reach does not end tracking with the next reboot. Without the tokens, which are kept encrypted.
struct LastGoodConfiguration {
    private static let name = "last-good.toml"
    private static let limit = 1 << 20
    private let directory: StateDirectory

    init(_ directory: StateDirectory) {
        self.directory = directory
    }

    /// Keeps the files that have just been read. A failure costs only the copy.
    func keep(_ options: Daemon.Options) {
        let file = options.file
        do {
            try copy(file, to: Self.name)
            let source = Self.dropIns(of: file)
            let target = Self.dropIns(of: Self.name)
            guard (try? directory.files.makeDirectory(directory.file(target))) != nil else { return }
            let names = Self.names(in: source, on: SystemFiles())
            for name in names { try copy(source + "/" + name, to: target + "/" + name) }
            for name in Self.names(in: directory.file(target), on: directory.files)
            where !names.contains(name) {
                try? directory.remove(target + "/" + name)
            }
        } catch {
            Log.warning(.configuration, "no copy of the configuration could be kept: \(error)")
        }
    }

    /// The copy; nil when there is none, or it is bad, too. Secrets in files of their own are read from where they were.
    func load(_ options: Daemon.Options, places: SecretPlaces = .ofThisProcess()) -> Layers? {
        let path = directory.file(Self.name)
        guard (try? directory.files.size(path)) != nil else { return nil }
        var places = places
        places.home = Self.folder(of: options.file)
        return try? Loader.layers(file: path, isDefaultPath: false, places: places).withoutSeeds
    }

    /// Writes only what has changed, because flash wears out.
    private func copy(_ source: String, to name: String) throws(SystemError) {
        let bytes: [UInt8]
        do {
            bytes = try readFile(source, limit: Self.limit)
        } catch {
            // A missing default file means all defaults, and so does an empty copy.
            guard error.code == ENOENT else { throw error }
            bytes = []
        }
        let copy = Seeds.removed(from: bytes)
        if try directory.read(name) != copy { try directory.replace(name, with: copy) }
    }

    private static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    private static func dropIns(of file: String) -> String {
        (file.hasSuffix(".toml") ? String(file.dropLast(5)) : file) + ".d"
    }

    private static func names(in folder: String, on files: any Files) -> [String] {
        ((try? files.names(in: folder)) ?? []).filter { $0.hasSuffix(".toml") }
    }
}
