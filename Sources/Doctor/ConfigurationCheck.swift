internal import ControlProtocol
package import ControlTool
internal import DaemonConfiguration
internal import Glibc

/// Reads configuration files exactly as beekond would, without needing it.
package struct ConfigurationCheck: Encodable, Sendable {
    /// A mistake and its location.
    package struct Problem: Encodable, Sendable {
        package let file: String
        /// Line, counted from 1; nil when the problem concerns the whole file.
        package let line: Int?
        /// Column, counted from 1; only for syntax errors.
        package let column: Int?
        /// Dotted key; nil when the problem concerns no setting.
        package let key: String?
        /// What is wrong, what is allowed, and what to do.
        package let message: String
        /// The whole problem in one line.
        let text: String

        private enum CodingKeys: CodingKey { case file, line, column, key, message }

        init(_ problem: ConfigurationError.Problem) {
            file = problem.file
            line = problem.line > 0 ? problem.line : nil
            column = problem.column
            key = problem.key
            message = problem.message
            text = problem.description
        }
    }

    /// Every setting with a fixed name, for shell completion.
    package static let keys = Key.all.filter { !$0.isOpen }.map(\.name)

    /// Path of the main file.
    package let file: String
    /// Whether beekond can use the configuration.
    package var ok: Bool { problems.isEmpty }
    /// What prevents beekond from using the configuration.
    package let problems: [Problem]
    /// What the operator should know.
    package let warnings: [String]

    private enum CodingKeys: CodingKey { case file, ok, problems, warnings }

    /// - Parameters:
    ///   - file: nil for the one used by the daemon behind the socket, else the default, which may be missing.
    ///   - socket: path of the daemon's socket.
    /// - Throws: a `Failure` when the file may not be read.
    package init(file: String?, socket: String) throws(Failure) {
        let settings = file == nil ? Self.settings(behind: socket) : []
        let known = Examination.file(namedBy: settings.map(\.origin))
        let path = file ?? known ?? "/etc/beekond/beekond.toml"
        self.file = path
        guard access(path, R_OK) == 0 || errno != EACCES else {
            throw Failure(
                "\(path) may not be read: try sudo beekonctl config check, or join group beekond",
                exitCode: 77)
        }
        do throws(ConfigurationError) {
            let layers = try Loader.layers(file: path, isDefaultPath: file == nil && known == nil)
            let result = layers.loaded(with: Examination.runtime(settings))
            problems = []
            warnings =
                result.loaded.warnings
                + result.leftOut.sorted { $0.key < $1.key }.map { name, reason in
                    "\(name), set while running, would be left out: \(reason)"
                }
        } catch {
            problems = error.problems.map { Problem($0) }
            warnings = []
        }
    }

    private static func settings(behind socket: String) -> [Wire.Setting] {
        guard var client = try? ControlClient(path: socket) else { return [] }
        return (try? client.call(Wire.GetConfig.self, .init()).settings) ?? []
    }

    /// Problems, warnings and approval, one per line.
    package var lines: [String] {
        problems.map { Text.safe($0.text) } + warnings.map { Text.safe("warning: " + $0) }
            + (ok ? [Text.safe(Loader.approval(of: file))] : [])
    }

    /// Encodes the format of `config check --json`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(ok, forKey: .ok)
        try container.encode(problems, forKey: .problems)
        try container.encode(warnings, forKey: .warnings)
    }
}
