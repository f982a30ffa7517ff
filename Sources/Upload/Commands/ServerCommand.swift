package import Base
package import DaemonConfiguration
internal import Envelope
package import Tracking

/// A command of a server, as it is journaled before it runs.
package struct ServerCommand: Equatable, Sendable {
    /// What it asks for. The arguments are of the right types; whether this vehicle does it is for ``CommandJudge`` to say.
    package enum Request: Equatable, Sendable {
        case start
        case stop
        /// At least one setting, by dotted name.
        case setConfig([String: SettingValue])
        /// At least one dotted name.
        case unsetConfig([String])
        /// At least one.
        case addGeofences([Geofence])
        /// At least one id.
        case removeGeofences([String])
        case removeAllGeofences
        /// `moving` or `stationary`.
        case setMotion(MotionState)
        /// One more drain after this one.
        case sync
        case locate
        /// To this address of the server that asks, or to the one that data go to.
        case uploadLog(url: String?)
    }

    /// What there is to be done about it.
    package enum Content: Equatable, Sendable {
        case request(Request)
        /// The command can only be refused.
        case refused(CommandError)
    }

    /// What a signed list says of itself.
    package struct Warrant: Equatable, Sendable {
        /// Unix milliseconds of its issue, 1…2⁵³.
        package let counter: Int64
        /// By a trusted clock it runs before this moment, or never.
        package let expiresAt: Timestamp

        /// Milliseconds by which the server's clock may be ahead. A counter far ahead, as one in microseconds, would make
        /// all later lists look like repeated ones.
        private static let lead: Int64 = 86_400_000

        /// Whether it says to have been issued in the future.
        ///
        /// - Parameter time: by a trusted clock.
        package static func isAhead(_ counter: Int64, of time: Timestamp) -> Bool {
            counter > latest(at: time)
        }

        /// The highest counter that does not.
        package static func latest(at time: Timestamp) -> Int64 { time.milliseconds + lead }
    }

    /// 1…128 printable ASCII characters, chosen by the server, or its batch and its place in the list.
    package let id: String
    /// The name in the result, such as `set_config`. Of an unknown command what the server wrote, at most 64
    /// characters.
    package let name: String
    package let content: Content
    /// Digest of what the server wrote, without the id: 32 hexadecimal digits. An id that was seen with
    /// another digest is reused.
    package let digest: String
    /// nil unless it was signed.
    package let warrant: Warrant?

    /// nil for one that can only be refused.
    package var request: Request? {
        if case .request(let request) = content { request } else { nil }
    }

    /// Characters of ``name``.
    static let nameLimit = 64
    private static let digestSize = 16
    /// Numbers with all their digits take more room than the server's.
    private static let journalLimits: JSONReader.Limits = {
        var limits = JSONReader.Limits()
        limits.bytes = 1 << 20
        return limits
    }()

    /// - Parameters:
    ///   - written: the command as the server wrote it, without its id.
    init(id: String, name: String, _ content: Content, written: JSON, warrant: Warrant? = nil) {
        self.init(
            id: id, name: CommandError.printable(name, limit: Self.nameLimit), content: content,
            digest: SHA256.hex(Array(SHA256.digest(Array(written.canonical.utf8)).prefix(Self.digestSize))),
            warrant: warrant)
    }

    private init(id: String, name: String, content: Content, digest: String, warrant: Warrant?) {
        self.id = id
        self.name = name
        self.content = content
        self.digest = digest
        self.warrant = warrant
    }

    /// Whether a text can be an id.
    static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

// MARK: The journal

extension ServerCommand {
    /// For the journal: a JSON object whose bytes never vary; nil for one that can only be refused, which is answered
    /// and not kept.
    package var text: String? {
        guard let request else { return nil }
        var members: [String: JSON] = [
            "id": .string(id), "command": .string(request.name.rawValue), "digest": .string(digest),
        ]
        if let arguments = request.arguments { members["arguments"] = .object(arguments) }
        if let warrant {
            members["counter"] = .number(String(warrant.counter))
            members["expires_at"] = .number(String(warrant.expiresAt.milliseconds))
        }
        return JSON.object(members).canonical
    }

    /// Reads back ``text``.
    ///
    /// - Returns: nil for anything that it cannot have been, as after damage.
    package init?(text: String) {
        guard case .object(let members)? = JSONReader.read(Array(text.utf8), limits: Self.journalLimits),
            case .string(let id)? = members["id"], Self.isID(id),
            case .string(let name)? = members["command"], let known = Settings.Commands.Name(rawValue: name),
            case .string(let digest)? = members["digest"], digest.utf8.count == 2 * Self.digestSize,
            let request = try? Request(known, members["arguments"])
        else { return nil }
        var warrant: Warrant?
        if members["counter"] != nil || members["expires_at"] != nil {
            guard let counter = members["counter"]?.integer, let expiry = members["expires_at"]?.integer
            else { return nil }
            warrant = Warrant(counter: counter, expiresAt: Timestamp(milliseconds: expiry))
        }
        self.init(id: id, name: name, content: .request(request), digest: digest, warrant: warrant)
    }
}
