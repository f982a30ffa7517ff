internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Glibc
internal import Linux
internal import Storage
internal import Systemd

/// The daemon from start to end.
package enum Daemon {
    /// The paths that it works with.
    package struct Options: Sendable {
        /// The configuration file; nil for the default, which may be missing.
        package var configuration: String?
        /// Where the database is.
        package var stateDirectory: String
        /// The path of the control socket.
        package var socket: String
        /// Replaces / when the identity of the machine is looked up; empty: / itself.
        package var machineRoot: String

        /// Read when no other is given.
        package static let defaultConfiguration = "/etc/beekond/beekond.toml"

        /// The configuration file, named or not.
        var file: String { configuration ?? Self.defaultConfiguration }

        /// systemd's directories when it has made them, else the usual ones.
        package init(environment: (String) -> String?) {
            stateDirectory = environment("STATE_DIRECTORY") ?? "/var/lib/beekond"
            socket = (environment("RUNTIME_DIRECTORY") ?? "/run/beekond") + "/beekond.sock"
            machineRoot = environment("BEEKOND_MACHINE_ROOT") ?? ""
        }
    }

    /// The version, for `--version`.
    package static let version = Release.version

    /// Checks whether the configuration can be used, and says so.
    ///
    /// - Returns: an exit code of sysexits.h.
    package static func check(_ options: Options) -> Int32 {
        do {
            let loaded = try Loader.load(file: options.file, isDefaultPath: options.configuration == nil)
            for warning in loaded.warnings { print("warning: " + warning) }
            print(Loader.approval(of: options.file))
            return EX_OK
        } catch {
            complain(error.description)
            return EX_CONFIG
        }
    }

    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Returns: an exit code of sysexits.h.
    package static func run(_ options: Options) -> Int32 {
        let startedAt = BootInstant.current()
        useOneHeap()
        // Neither where somebody has been nor tokens are anybody else's business.
        _ = umask(0o077)
        forbidCoreDumps()
        do {
            let signals = try Signals()
            let directory = try StateDirectory(options.stateDirectory)
            let lock = try lock(directory)
            // Before anything in the directory is changed: a start that is refused leaves it as it was.
            let place = try SocketPlace(at: options.socket)
            let configuration = try Configurator(options, directory)
            let supervisor = try Supervisor(
                options, signals, directory, configuration, place, startedAt: startedAt)
            let code = supervisor.run()
            withExtendedLifetime(lock) {}
            return code
        } catch let error as ConfigurationError {
            complain(error.description)
            return EX_CONFIG
        } catch let error as StorageError {
            complain(error.description)
            return error.kind == .newerSchema ? EX_CONFIG : EX_IOERR
        } catch let error as StartFailure {
            complain(error.message)
            return error.code
        } catch let error as SystemError {
            complain(error.description)
            // Another process answers on the socket.
            return error.code == EADDRINUSE ? EX_TEMPFAIL : EX_OSERR
        } catch {
            complain("\(error)")
            return EX_SOFTWARE
        }
    }

    private static func lock(_ directory: StateDirectory) throws -> any OpenedFile {
        do {
            return try directory.lock()
        } catch {
            guard error.code == EWOULDBLOCK else { throw error }
            throw StartFailure(
                message:
                    "another beekond is running on \(directory.path): stop it, or choose another --state-dir",
                code: EX_TEMPFAIL)
        }
    }

    /// Says why the daemon does not start, on standard error or in the journal.
    package static func complain(_ message: String) {
        for line in message.split(separator: "\n") { Log.error(.started, String(line)) }
    }
}

/// A reason not to start, with its exit code.
struct StartFailure: Error {
    var message: String
    var code: Int32
}
