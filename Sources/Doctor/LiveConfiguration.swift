internal import ControlProtocol
internal import ControlTool
internal import DaemonConfiguration
internal import Glibc
internal import Linux

/// The configuration of beekond on this machine: its files, and how the daemon goes by them if it runs.
package struct LiveConfiguration {
    /// The main file of the configuration.
    package let path: String
    /// The daemon runs.
    package let isRunning: Bool
    let stateDirectory: String
    private let socket: String
    private let isDefault: Bool
    private let settings: [Wire.Setting]

    /// - Parameters:
    ///   - socket: where beekond listens.
    ///   - path: its main file; nil: the one that the daemon runs with, else the default.
    ///   - stateDirectory: nil: the one that the daemon says, else the default.
    package init(socket: String, path: String?, stateDirectory: String?) {
        self.socket = socket
        var client = try? ControlClient(path: socket)
        let status = try? client?.call(Wire.GetStatus.self, .init()).status
        settings = (try? client?.call(Wire.GetConfig.self, .init()).settings) ?? []
        isRunning = status != nil
        let known = path ?? Examination.file(namedBy: settings.map(\.origin))
        self.path = known ?? "/etc/beekond/beekond.toml"
        isDefault = known == nil
        self.stateDirectory = stateDirectory ?? status?.store.directory ?? "/var/lib/beekond"
    }

    /// The folder of the further files.
    var folder: String { Loader.folder(beside: path) }

    /// A value that the daemon goes by; nil where it does not run.
    func inForce(_ key: String) -> String? { settings.first { $0.key == key }?.value.stringValue }

    /// What `config set` says of a key, which wins over every file.
    func setByPerson(_ key: String) -> String? {
        settings.first { $0.key == key && $0.origin == "runtime" }?.value.stringValue
    }

    /// - Throws: a `Failure` where the files may not be read, or are bad.
    func files() throws(Failure) -> Loaded {
        guard access(path, R_OK) == 0 || errno == ENOENT else {
            throw Failure("\(path) may not be read: try with sudo", exitCode: 77)
        }
        return try loaded()
    }

    /// - Parameters:
    ///   - draft: a file as it is to be.
    ///   - absent: one that is to be gone.
    /// - Throws: a `Failure` where they are bad together.
    func loaded(
        draft: (file: DurableFile, text: String)? = nil, without absent: String? = nil
    ) throws(Failure) -> Loaded {
        do throws(ConfigurationError) {
            return try Loader.layers(
                file: path, isDefaultPath: isDefault, draft: draft.map { ($0.file.path, $0.text) },
                without: absent
            ).loaded(with: [:]).loaded
        } catch {
            throw Failure(
                (error.problems.first?.description ?? "the configuration is bad") + "; nothing was changed",
                exitCode: 78)
        }
    }

    /// The group that may read what is written; nil where the package is not installed.
    static var group: gid_t? { geteuid() == 0 ? getgrnam("beekond")?.pointee.gr_gid : nil }

    /// Makes the daemon read the files.
    func reload() -> (isInForce: Bool, words: String) {
        guard isRunning, var client = try? ControlClient(path: socket) else {
            return (
                false,
                "beekond does not run: it is in force with its next start (sudo systemctl start beekond)."
            )
        }
        do {
            _ = try client.call(Wire.Reload.self, .init(), timeoutSeconds: 60)
            return (true, "beekond has read it.")
        } catch {
            let reason = Failure(error)?.message ?? "no answer"
            return (false, "beekond has not read it (\(reason)): sudo beekonctl reload")
        }
    }
}
