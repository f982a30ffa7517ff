public import ControlProtocol

/// Everything that was found out, before anything is said about it. nil stands for "could not be found out" throughout.
public struct Facts: Sendable {
    /// Who asks.
    public struct User: Sendable {
        /// As the system calls it.
        public var name = "you"
        /// uid 0: every group is as good as joined.
        public var isRoot = false
        /// Names.
        public var groups: Set<String> = []
    }

    /// The configuration file.
    public enum File: Sendable, Equatable {
        /// Read, with what it warns of.
        case good(warnings: [String])
        /// There is none, which means all defaults.
        case missing
        /// Not for this user.
        case unreadable
        /// Where the running daemon has its settings from cannot be told from here.
        case elsewhere
        /// With what is wrong in it, a line each.
        case broken([String])
    }

    /// The system clock and what sets it.
    public struct SystemClock: Sendable {
        /// The kernel's own word.
        public var isSynchronised = false
        /// There is a clock with a battery.
        public var hasRTC = false
        /// chronyd, systemd-timesyncd or ntpd, whichever runs.
        public var service: String?
        /// chrony's configuration has a reference clock; nil when it cannot be read.
        public var hasReferenceClock: Bool?
    }

    /// Where the state directory lies.
    public struct Disk: Sendable {
        /// Bytes that are left for others than root.
        public var freeBytes: Int64
        /// Files that can still be made; nil where the file system does not count them.
        public var freeFiles: Int64?
        /// Mounted read-only.
        public var isReadOnly: Bool
    }

    /// The user.
    public var user = User()
    /// Where beekond listens.
    public var socket = ""
    /// Why it could not be talked to.
    public var connection: ClientFailure?
    /// What it said of itself.
    public var status: Wire.Status?
    /// The configuration in force, by dotted key.
    public var settings: [String: JSONValue] = [:]
    /// The path of the configuration file.
    public var configuration = ""
    /// What is in it.
    public var file: File = .missing
    /// What gpsd said.
    public var gpsd = GPSDFacts()
    /// The receiver's device file; nil where gpsd has it from elsewhere.
    public var device: DeviceFile?
    /// ModemManager runs.
    public var hasModemManager = false
    /// The clock.
    public var clock = SystemClock()
    /// The path of the state directory.
    public var stateDirectory = ""
    /// Its disk.
    public var disk: Disk?
    /// The backend; nil without `sync.url`.
    public var backend: BackendFacts?
    /// Now, in seconds since 1970.
    public var now: Int64 = 0

    /// Nothing is known yet.
    public init() {}
}

/// What gpsd said.
public struct GPSDFacts: Sendable {
    /// How far the conversation came.
    public enum Contact: Sendable, Equatable {
        /// It answered; its release.
        case answered(String)
        /// Somebody took the connection and did not talk like gpsd.
        case silent
        /// No connection, and why.
        case failed(String)
    }

    /// As configured.
    public var host = "127.0.0.1"
    /// As configured.
    public var port = 2947
    /// How far it came.
    public var contact = Contact.failed("not tried")
    /// Paths of its receivers; nil when it did not tell.
    public var devices: [String]?
    /// 0 or 1 no fix, 2, 3; nil when no report came.
    public var mode: Int?
    /// Satellites in the solution.
    public var used: Int?
    /// Satellites in sight.
    public var visible: Int?

    /// Nothing is known yet.
    public init() {}
}

/// The file of a serial receiver.
public struct DeviceFile: Sendable {
    /// Its path.
    public var path: String
    /// It is there.
    public var exists: Bool
    /// A kind that ModemManager takes for a modem.
    public var looksLikeModem: Bool
    /// udev was told to keep ModemManager away from it.
    public var isIgnored: Bool
    /// The group that may open it; nil when nobody but its owner may.
    public var group: String?
}

/// What was seen on the way to the backend.
public struct BackendFacts: Sendable {
    /// What an empty batch came to.
    public enum Answer: Sendable, Equatable {
        /// An HTTP status.
        case status(Int)
        /// A 2xx that is not believed, because a page answers in the backend's place.
        case page(Int)
        /// A 2xx without the acknowledgement that `sync.require_ack` demands.
        case noAck(Int)
        /// No answer: libcurl's words.
        case failed(String, isClock: Bool)
    }

    /// As it may be shown.
    public var url = ""
    /// Whom the name is asked for and the connection made to: the backend, or the proxy before it.
    public var host = ""
    /// Of that host.
    public var port = 443
    /// `host` is a proxy.
    public var isProxy = false
    /// https.
    public var isTLS = true
    /// The daemon attaches a token that only it has.
    public var hasToken = false
    /// Why the name has no address; nil when it has.
    public var nameFailure: String?
    /// Why there was no connection; nil when there was, or none was tried.
    public var connectFailure: String?
    /// nil when nothing was sent, because the credentials may not be read.
    public var answer: Answer?

    /// Nothing is known yet.
    public init() {}
}
