package import ControlTool
internal import DaemonConfiguration

/// Adds a destination that is software of others to the configuration of this machine. The file is checked together with all
/// others before it is there, and replaced as a whole.
package struct DestinationSetup {
    /// What came of it, as `--json` prints it.
    package struct Result: Encodable, Sendable {
        package let file: String
        package let destination: String
        /// The daemon goes by it already.
        package let isInForce: Bool
        /// What happened, a sentence each.
        package let lines: [String]

        private enum CodingKeys: String, CodingKey {
            case file, destination, lines
            case isInForce = "in_force"
        }
    }

    private let name: String
    private let configuration: LiveConfiguration
    private var file: DurableFile { DurableFile(folder: configuration.folder, name: "50-\(name).toml") }

    /// - Throws: a `Failure` for a name that no destination can have.
    package init(_ name: String, in configuration: LiveConfiguration) throws(Failure) {
        try Enrollment.Request.check(name)
        (self.name, self.configuration) = (name, configuration)
    }

    /// Refuses where there is such a destination already.
    ///
    /// - Parameter replaces: whether its file may be replaced, if it is one that this would write.
    /// - Throws: a `Failure` that says where it is, and what to do.
    package func check(replaces: Bool) throws(Failure) {
        let table = "destination.\(name)."
        let found = try configuration.files().listing.first { entry in
            guard entry.key.hasPrefix(table), case .file(let path, _) = entry.origin else { return false }
            return !replaces || path != file.path
        }
        if let found {
            throw Failure(
                "there is a destination \(name) already (\(found.origin)): --destination NAME adds another"
                    + (replaces ? "" : ", --replace takes the place of \(file.path)"), exitCode: 78)
        }
        guard replaces || !file.exists else {
            throw Failure("\(file.path) is there: move it away, then run this again", exitCode: 78)
        }
    }

    /// Writes the file, and makes the daemon read it.
    ///
    /// - Throws: a `Failure` where it is refused; then nothing has changed.
    package func run(_ form: DestinationForm, replaces: Bool) throws(Failure) -> Result {
        try check(replaces: replaces)
        let text = form.text(name: name)
        _ = try configuration.loaded(draft: (file, text))
        if file.exists { try file.keepBefore() }
        try file.replace(with: text, mode: 0o640, group: LiveConfiguration.group)
        let (isInForce, words) = configuration.reload()
        return Result(
            file: file.path, destination: name, isInForce: isInForce,
            lines: ["\(file.path) is written.", words])
    }
}
