internal import FoundationEssentials
public import Linux
public import Tracking

/// The small files beside the database: what must survive its loss.
///
/// A file that cannot be read as what it should be counts as absent and is reported, never as a reason not to start.
public struct SmallFiles: Sendable {
    /// Who this installation is.
    public struct Identity: Codable, Equatable, Sendable {
        /// A UUIDv7, as it stands in every upload.
        public var installID: String
        /// The machine it was minted on, from /etc/machine-id.
        public var machineID: String

        /// Minted or read.
        public init(installID: String, machineID: String) {
            self.installID = installID
            self.machineID = machineID
        }
    }

    /// What the user last asked for.
    public struct Intent: Codable, Equatable, Sendable {
        /// What can be asked for.
        public enum State: String, Codable, Sendable { case tracking, stopped }

        /// What was asked for last.
        public var state: State
        /// The session that goes on, or went on last.
        public var sessionID: String
        /// Unix milliseconds.
        public var startedAt: Int64

        /// What is to be persisted before the user gets an answer.
        public init(state: State, session: UUIDv7, startedAt: Timestamp) {
            self.state = state
            sessionID = session.description
            self.startedAt = startedAt.milliseconds
        }

        /// The same as a value; nil when the file held something else.
        public var session: UUIDv7? { UUIDv7(sessionID) }
    }

    /// What SetExtras has changed of the configured extras; it wins over them, name by name.
    public struct Extras: Codable, Equatable, Sendable {
        /// Names with other values, and new ones.
        public var set: [String: String] = [:]
        /// Configured names that are left out.
        public var unset: [String] = []

        /// Nothing is changed.
        public init() {}

        /// The changes that make `wanted` of what is configured.
        public init(wanted: [String: String], configured: [String: String]) {
            set = wanted.filter { configured[$0.key] != $0.value }
            unset = configured.keys.filter { wanted[$0] == nil }.sorted()
        }

        /// The extras in force.
        public func applied(to configured: [String: String]) -> [String: String] {
            configured.filter { !unset.contains($0.key) }.merging(set) { $1 }
        }
    }

    let directory: StateDirectory

    /// Makes no file yet.
    public init(_ directory: StateDirectory) {
        self.directory = directory
    }

    /// nil when there is none, or none that can be read.
    public func readIdentity() throws(SystemError) -> Identity? {
        try read("identity.json")
    }

    /// Durable when it returns.
    public func write(_ identity: Identity) throws(SystemError) {
        try write("identity.json", identity)
    }

    /// nil when nothing has ever been asked for, or what it holds cannot be read.
    public func readIntent() throws(SystemError) -> Intent? {
        try read("intent.json")
    }

    /// Durable when it returns, which is before the user gets an answer.
    public func write(_ intent: Intent) throws(SystemError) {
        try write("intent.json", intent)
    }

    /// nil when none have ever been set, or what it holds cannot be read.
    public func readExtras() throws(SystemError) -> Extras? {
        try read("extras.json")
    }

    /// Durable when it returns.
    public func write(_ extras: Extras) throws(SystemError) {
        try write("extras.json", extras)
    }

    private func read<Content: Decodable>(_ name: String) throws(SystemError) -> Content? {
        guard let bytes = try directory.read(name) else { return nil }
        return try? JSONDecoder().decode(Content.self, from: Data(bytes))
    }

    func write(_ name: String, _ content: some Encodable, isLarge: Bool = false) throws(SystemError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = isLarge ? .sortedKeys : [.sortedKeys, .prettyPrinted]
        guard let bytes = try? encoder.encode(content) else { throw SystemError("encode " + name, code: 22) }
        try directory.replace(name, with: [UInt8](bytes) + [UInt8(ascii: "\n")])
    }
}
