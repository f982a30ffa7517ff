/// Reads the configuration file, its drop-ins and the runtime settings, in this order; the last word wins.
public enum Loader {
    /// Loads `file`, then `*.toml` in the folder beside it named like it with `.d` for `.toml`, then `runtime`.
    ///
    /// - Parameters:
    ///   - file: path of the configuration file.
    ///   - isDefaultPath: nobody named the file, so that it may be missing: then the defaults apply.
    ///   - runtime: settings made while running, by dotted name; secrets are refused here.
    ///   - places: where secrets in file form may stand.
    /// - Throws: every problem found in all files.
    public static func load(
        file: String, isDefaultPath: Bool, runtime: [String: Value] = [:], places: SecretPlaces = SecretPlaces()
    ) throws(ConfigurationError) -> Loaded {
        Loaded(settings: Settings(), warnings: [], listing: [])
    }
}

/// Which configuration files may name secret files, and where these may be.
public struct SecretPlaces: Sendable, Equatable {
    /// Folders whose configuration files may use the file form.
    public var configurationRoots = ["/etc"]
    /// The credentials systemd passed to the service (`$CREDENTIALS_DIRECTORY`), if any.
    public var credentialsDirectory: String?

    /// `/etc`, and the service's credentials when there are any.
    public init(configurationRoots: [String] = ["/etc"], credentialsDirectory: String? = nil) {
        self.configurationRoots = configurationRoots
        self.credentialsDirectory = credentialsDirectory
    }
}
