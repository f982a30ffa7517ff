public import ControlProtocol

/// Everything gathered before it is judged. Throughout, nil means "could not be determined".
public struct Facts: Sendable {
    /// The user running the check.
    public struct User: Sendable {
        /// Login name.
        public var name = "you"
        /// uid 0: has the rights of every group.
        public var isRoot = false
        /// Names of the user's groups.
        public var groups: Set<String> = []
    }

    /// The configuration file.
    public enum File: Sendable, Equatable {
        /// Read, with its warnings.
        case good(warnings: [String])
        /// There is none: all settings have their defaults.
        case missing
        /// This user may not read it.
        case unreadable
        /// The running daemon uses a file that cannot be located from here.
        case elsewhere
        /// Invalid, with one line per problem.
        case broken([String])
    }

    /// The system clock and what sets it.
    public struct SystemClock: Sendable {
        /// Whether the kernel considers it synchronised.
        public var isSynchronised = false
        /// Whether there is a battery-backed clock.
        public var hasRTC = false
        /// chronyd, systemd-timesyncd or ntpd, whichever is running.
        public var service: String?
        /// Whether chrony has a reference clock configured; nil when its configuration cannot be read.
        public var hasReferenceClock: Bool?
    }

    /// The disk with the state directory.
    public struct Disk: Sendable {
        /// Bytes available to unprivileged users.
        public var freeBytes: Int64
        /// Number of files that can still be created; nil where the file system does not count them.
        public var freeFiles: Int64?
        /// Mounted read-only.
        public var isReadOnly: Bool
    }

    /// The user running the check.
    public var user = User()
    /// Path of the daemon's socket.
    public var socket = ""
    /// Why the daemon could not be reached.
    public var connection: ClientFailure?
    /// The status that the daemon reported.
    public var status: Wire.Status?
    /// The configuration in effect, by dotted key.
    public var settings: [String: JSONValue] = [:]
    /// Path of the configuration file.
    public var configuration = ""
    /// State of the configuration file.
    public var file: File = .missing
    /// What gpsd reported.
    public var gpsd = GPSDFacts()
    /// The receiver's device file; nil when gpsd does not use one.
    public var device: DeviceFile?
    /// Whether ModemManager is running.
    public var hasModemManager = false
    /// The system clock.
    public var clock = SystemClock()
    /// Path of the state directory.
    public var stateDirectory = ""
    /// The disk that holds it.
    public var disk: Disk?
    /// The backend; nil without `sync.url`.
    public var backend: BackendFacts?
    /// Current time in Unix seconds.
    public var now: Int64 = 0

    /// Starts with nothing known.
    public init() {}
}

/// What gpsd reported.
public struct GPSDFacts: Sendable {
    /// How far the conversation got.
    public enum Contact: Sendable, Equatable {
        /// gpsd answered; its release.
        case answered(String)
        /// Something accepted the connection but did not behave like gpsd.
        case silent
        /// No connection, and why.
        case failed(String)
    }

    /// Host, as configured.
    public var host = "127.0.0.1"
    /// Port, as configured.
    public var port = 2947
    /// How far the conversation got.
    public var contact = Contact.failed("not tried")
    /// Paths of its receivers; nil when it did not list them.
    public var devices: [String]?
    /// 0 or 1 for no fix, 2 or 3; nil when no report came.
    public var mode: Int?
    /// Number of satellites used in the solution.
    public var used: Int?
    /// Number of satellites in view.
    public var visible: Int?

    /// Starts with nothing known.
    public init() {}
}

/// The device file of a serial receiver.
public struct DeviceFile: Sendable {
    /// Path of the file.
    public var path: String
    /// Whether the file exists.
    public var exists: Bool
    /// Whether ModemManager might take it for a modem, by its name.
    public var looksLikeModem: Bool
    /// Whether a udev rule makes ModemManager ignore it.
    public var isIgnored: Bool
    /// The group that may open it; nil when only its owner may.
    public var group: String?
}

/// What was found on the way to the backend.
public struct BackendFacts: Sendable {
    /// The outcome of posting an empty batch.
    public enum Answer: Sendable, Equatable {
        /// The HTTP status.
        case status(Int)
        /// A 2xx that is not believed, because a page answers in place of the backend.
        case page(Int)
        /// A 2xx without the acknowledgement that `sync.require_ack` demands.
        case noAck(Int)
        /// No answer, with libcurl's message.
        case failed(String, isClock: Bool)
    }

    /// The URL, with secrets masked.
    public var url = ""
    /// The host to resolve and connect to: the backend, or the proxy in front of it.
    public var host = ""
    /// Port on that host.
    public var port = 443
    /// Whether `host` is a proxy.
    public var isProxy = false
    /// Whether the URL is https.
    public var isTLS = true
    /// Whether the daemon adds a token that only it has.
    public var hasToken = false
    /// Why the name could not be resolved; nil on success.
    public var nameFailure: String?
    /// Why connecting failed; nil on success, or if it was not attempted.
    public var connectFailure: String?
    /// nil when nothing was sent, because the credentials may not be read.
    public var answer: Answer?

    /// Starts with nothing known.
    public init() {}
}
