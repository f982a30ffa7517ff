package import ControlProtocol

/// Everything gathered before it is judged. Throughout, nil means "could not be determined".
package struct Facts: Sendable {
    /// The user running the check.
    package struct User: Sendable {
        /// Login name.
        package var name = "you"
        /// uid 0: has the rights of every group.
        package var isRoot = false
        package var groups: Set<String> = []
    }

    package enum File: Sendable, Equatable {
        /// Read, with its warnings.
        case good(warnings: [String])
        /// No configuration file: all settings have their defaults.
        case missing
        /// The user may not read the file.
        case unreadable
        /// The running daemon uses a file that cannot be located from here.
        case elsewhere
        /// Invalid, with one line per problem.
        case broken([String])
    }

    /// The system clock and what sets it.
    package struct SystemClock: Sendable {
        /// Whether the kernel considers the clock synchronised.
        package var isSynchronised = false
        /// Whether there is a battery-backed clock.
        package var hasRTC = false
        /// chronyd, systemd-timesyncd or ntpd, whichever is running.
        package var service: String?
        /// Whether it could be seen which one runs.
        package var isServiceKnown = true
        /// Whether chrony has a reference clock configured; nil when its configuration cannot be read.
        package var hasReferenceClock: Bool?
    }

    /// The disk with the state directory.
    package struct Disk: Sendable {
        /// Bytes available to unprivileged users.
        package var freeBytes: Int64
        /// Number of files that can still be created; nil where the file system does not count them.
        package var freeFiles: Int64?
        package var isReadOnly: Bool
    }

    package var user = User()
    /// Path of the daemon's socket.
    package var socket = ""
    /// Why the daemon could not be reached.
    package var connection: ClientFailure?
    /// The status that the daemon reported.
    package var status: Wire.Status?
    /// The configuration in effect, by dotted key.
    package var settings: [String: JSONValue] = [:]
    /// The keys that somebody has set.
    package var chosen: Set<String> = []
    /// Path of the configuration file.
    package var configuration = ""
    package var file: File = .missing
    package var gpsd = GPSDFacts()
    /// The receiver's device file; nil when gpsd does not use one.
    package var device: DeviceFile?
    package var hasModemManager: Bool?
    /// Whether the chip of `vehicle.gpio_chip` is there, for whoever runs the check; nil where none is configured.
    package var hasChip: Bool?
    package var clock = SystemClock()
    package var stateDirectory = ""
    package var disk: Disk?
    /// The backend; nil without `sync.url`.
    package var backend: BackendFacts?
    /// The destinations besides `main` that are configured.
    package var others: [DestinationFacts] = []
    /// Current time in Unix seconds.
    package var now: Int64 = 0

    package init() {}
}

/// What gpsd reported.
package struct GPSDFacts: Sendable {
    /// How far the conversation got.
    package enum Contact: Sendable, Equatable {
        /// gpsd answered; its release.
        case answered(String)
        /// Something accepted the connection but did not behave like gpsd.
        case silent
        /// No connection, and why.
        case failed(String)
    }

    /// Host, as configured.
    package var host = "127.0.0.1"
    /// Port, as configured.
    package var port = 2947
    package var contact = Contact.failed("not tried")
    /// Paths of its receivers; nil when it did not list them.
    package var devices: [String]?
    /// 0 or 1 for no fix, 2 or 3; nil when no report came.
    package var mode: Int?
    /// Number of satellites used in the solution.
    package var used: Int?
    /// Number of satellites in view.
    package var visible: Int?

    package init() {}
}

/// The device file of a serial receiver.
package struct DeviceFile: Sendable {
    package var path: String
    package var exists: Bool
    /// Whether ModemManager might take it for a modem, by its name.
    package var looksLikeModem: Bool
    /// Whether a udev rule makes ModemManager ignore it.
    package var isIgnored: Bool
    /// The group that may open it; nil when only its owner may.
    package var group: String?
}

/// A destination besides `main`, and what was found on the way to it.
package struct DestinationFacts: Sendable {
    package var name: String
    package var backend: BackendFacts

    init(_ name: String, _ backend: BackendFacts) {
        self.name = name
        self.backend = backend
        self.backend.table = "destination." + name
    }
}

/// What was found on the way to the backend.
package struct BackendFacts: Sendable {
    /// The outcome of posting an empty batch or, to a broker, of logging in.
    package enum Answer: Sendable, Equatable {
        case status(Int)
        /// A 2xx that is not believed, because a page answers in place of the backend.
        case page(Int)
        /// A 2xx that begins with an error that PHP printed.
        case phpError(Int)
        /// A 2xx without the acknowledgement that `sync.require_ack` demands.
        case noAck(Int)
        /// A 2xx whose body does not say that the batch was taken, as `sync.accept_member` demands.
        case refused(Int)
        /// A 2xx whose body should say so, and cannot be read to its end.
        case unread(Int)
        /// A 2xx that is believed although nothing in it says that the batch was taken.
        case silent(Int)
        /// What a broker says to the login, in words; `advice` is nil when nothing is known.
        case broker(isAccepted: Bool, String, advice: String?)
        /// No answer, with libcurl's message.
        case failed(String, isClock: Bool)
        /// Nothing was sent: a request has one location, and no test without being asked sends one.
        case unasked
    }

    /// The table of its settings.
    package var table = "sync"
    package var format = "beekon"
    /// What `unique_id` names is nobody's choice yet, and a later version changes it.
    package var hasOldUniqueID = false
    /// The URL, with secrets masked.
    package var url = ""
    /// The host to resolve and connect to: the backend, or the proxy in front of it.
    package var host = ""
    package var port = 443
    package var isProxy = false
    package var isTLS = true
    /// Whether the daemon adds a token that only it has.
    package var hasToken = false
    /// Why the name could not be resolved; nil on success.
    package var nameFailure: String?
    /// Why connecting failed; nil on success, or if it was not attempted.
    package var connectFailure: String?
    /// What the server said with an answer that is no acceptance; nil: nothing.
    package var reason: String?
    /// nil when nothing was sent, because the credentials may not be read.
    package var answer: Answer?

    package init() {}
}
