import Glibc

/// Reads the configuration file, its drop-ins and the runtime settings, in this order; the last word wins.
package enum Loader {
    /// Loads `file`, then `*.toml` in the folder beside it named like it with `.d` for `.toml`, then `runtime`.
    ///
    /// - Parameters:
    ///   - file: path of the configuration file.
    ///   - isDefaultPath: nobody named the file, so that it may be missing: then the defaults apply.
    ///   - runtime: settings made while running, by dotted name; secrets are refused here.
    ///   - places: where secrets in file form may stand.
    /// - Throws: every problem found in all files.
    package static func load(
        file: String, isDefaultPath: Bool, runtime: [String: SettingValue] = [:],
        places: SecretPlaces = .ofThisProcess()
    ) throws(ConfigurationError) -> Loaded {
        var assembly = read(file, isDefaultPath: isDefaultPath, places)
        for (name, message) in assembly.add(runtime: runtime).sorted(by: { $0.key < $1.key }) {
            assembly.problems.append(.init(file: "runtime", key: name.escaped, message: message))
        }
        return try assembly.finish()
    }

    /// Reads the same files, so that settings can be laid over them now and later.
    ///
    /// - Parameters:
    ///   - draft: a file of the folder as it is to be, whatever is there.
    ///   - absent: one that is to go.
    /// - Throws: every problem found in all files.
    package static func layers(
        file: String, isDefaultPath: Bool, draft: (path: String, text: String)? = nil,
        without absent: String? = nil,
        places: SecretPlaces = .ofThisProcess()
    ) throws(ConfigurationError) -> Layers {
        try Layers(read(file, isDefaultPath: isDefaultPath, draft: draft, without: absent, places))
    }

    /// The folder with further files of a configuration file.
    package static func folder(beside file: String) -> String {
        (file.hasSuffix(".toml") ? String(file.dropLast(5)) : file) + ".d"
    }

    /// What is told of a main file that can be used: a sentence, also for one that is missing and may be.
    package static func approval(of file: String) -> String {
        access(file, F_OK) == 0
            ? "\(file): no errors" : "\(file): there is no such file, so every setting has its default"
    }

    private static func read(
        _ file: String, isDefaultPath: Bool, draft: (path: String, text: String)? = nil,
        without absent: String? = nil,
        _ places: SecretPlaces
    ) -> SettingsBuilder {
        var assembly = SettingsBuilder()
        var dropIns = dropIns(beside: file, &assembly).filter { $0 != draft?.path && $0 != absent }
        if let draft { dropIns = (dropIns + [draft.path]).sorted() }
        for path in [file] + dropIns {
            do throws(ConfigurationError) {
                if let content = try content(of: path, draft) {
                    var collector = Collector(
                        file: content, home: places.home ?? SecretFile.directory(of: file), places: places)
                    collector.collect()
                    assembly.add(collector)
                } else if path == file, !isDefaultPath {
                    throw ConfigurationError([
                        .init(file: path, message: "there is no such file; check --config")
                    ])
                }
            } catch { assembly.problems += error.problems }
        }
        return assembly
    }

    private static func content(
        of path: String, _ draft: (path: String, text: String)?
    ) throws(ConfigurationError) -> ConfigurationFile? {
        if let draft, draft.path == path {
            return ConfigurationFile(path: path, text: draft.text, exposure: nil)
        }
        return try ConfigurationFile.read(path)
    }

    private static func dropIns(beside file: String, _ assembly: inout SettingsBuilder) -> [String] {
        do throws(ConfigurationError) {
            return try ConfigurationFile.dropIns(folder(beside: file))
        } catch {
            assembly.problems += error.problems
            return []
        }
    }
}

/// Which configuration files may name secret files, and where these may be.
package struct SecretPlaces: Sendable, Equatable {
    /// Folders whose configuration files may use the file form.
    package var configurationRoots: [String]
    /// The credentials systemd passed to the service, if any.
    package var credentialsDirectory: String?
    /// The folder that secret files are named from, when the configuration file is a copy that lies elsewhere.
    package var home: String?

    /// Only `/etc`, and no credentials, unless told otherwise.
    package init(
        configurationRoots: [String] = ["/etc"], credentialsDirectory: String? = nil, home: String? = nil
    ) {
        self.configurationRoots = configurationRoots
        self.credentialsDirectory = credentialsDirectory
        self.home = home
    }

    /// `/etc`, and what `$CREDENTIALS_DIRECTORY` says.
    package static func ofThisProcess() -> SecretPlaces {
        SecretPlaces(credentialsDirectory: getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) })
    }
}
