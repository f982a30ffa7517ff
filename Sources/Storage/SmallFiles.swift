package import Base
internal import FoundationEssentials
package import Linux

/// The small files beside the database: what must survive its loss.
///
/// An unreadable file is put aside and reported; it never prevents the start.
package struct SmallFiles: Sendable {
    /// Who this installation is.
    package struct Identity: Codable, Equatable, Sendable {
        /// A UUIDv7, as it stands in every upload.
        package var installID: String
        /// What identified the machine: digests, by the name of the sign. nil in a file of the first layout.
        package var signs: [String: String]?
        /// The content of /etc/machine-id, in a file of the first layout.
        package var machineID: String?
        /// A database has been made.
        package var hasDatabase: Bool?
        /// A separation from another machine that has begun and not been completed.
        package var separation: Separation?

        /// Minted or read.
        package init(installID: String, signs: [String: String]) {
            self.installID = installID
            self.signs = signs
        }
    }

    /// What becomes of an installation that was copied from another machine. Written before anything is done, so that
    /// it is completed, and always in the same way, however often it is interrupted.
    package struct Separation: Codable, Equatable, Sendable {
        /// The new identity.
        package var installID: String
        /// What identifies this machine.
        package var signs: [String: String]
        /// The new name of the other machine's database.
        package var database: String
        /// The session that continues instead of the other machine's.
        package var session: String
        /// Unix milliseconds.
        package var startedAt: Int64
        /// What the other machine last requested.
        package var intent: Intent?

        /// All of it is decided at once.
        package init(
            installID: String, signs: [String: String], database: String, session: UUIDv7,
            startedAt: Timestamp, intent: Intent?
        ) {
            self.intent = intent
            self.installID = installID
            self.signs = signs
            self.database = database
            self.session = session.description
            self.startedAt = startedAt.milliseconds
        }
    }

    /// What the user last asked for.
    package struct Intent: Codable, Equatable, Sendable {
        /// What can be asked for.
        package enum State: String, Codable, Sendable { case tracking, stopped }

        /// What was asked for last.
        package var state: State
        /// The session that goes on, or went on last.
        package var sessionID: String
        /// Unix milliseconds.
        package var startedAt: Int64

        /// What is to be persisted before the user gets an answer.
        package init(state: State, session: UUIDv7, startedAt: Timestamp) {
            self.state = state
            sessionID = session.description
            self.startedAt = startedAt.milliseconds
        }

        /// The same as a value; nil when the file held something else.
        package var session: UUIDv7? { UUIDv7(sessionID) }
    }

    /// What SetExtras has changed of the configured extras; it wins over them, name by name.
    package struct Extras: Codable, Equatable, Sendable {
        /// Names with other values, and new ones.
        package var set: [String: String] = [:]
        /// Configured names that are left out.
        package var unset: [String] = []

        /// Nothing is changed.
        package init() {}

        /// The changes that make `wanted` of what is configured.
        package init(wanted: [String: String], configured: [String: String]) {
            set = wanted.filter { configured[$0.key] != $0.value }
            unset = configured.keys.filter { wanted[$0] == nil }.sorted()
        }

        /// The extras in force.
        package func applied(to configured: [String: String]) -> [String: String] {
            configured.filter { !unset.contains($0.key) }.merging(set) { $1 }
        }
    }

    let directory: StateDirectory

    /// Makes no file yet.
    package init(_ directory: StateDirectory) {
        self.directory = directory
    }

    /// The identity of this installation, as far as it is known.
    package func readIdentity() -> Reading<Identity> {
        read(Name.identity) { (found: Identity) in
            UUIDv7(found.installID) != nil && found.separation.map(Self.isGood) ?? true
        }
    }

    /// Durable when it returns.
    package func write(_ identity: Identity) throws(SystemError) {
        try write(Name.identity, identity)
    }

    /// The name under which the identity of another machine is kept beside its database.
    package static func foreignName(beside database: String) -> String {
        Name.identity + database.dropFirst("beekon.db".count)
    }

    /// Keeps the identity of another machine beside its database, durably.
    package func write(foreign identity: Identity, beside database: String) throws(SystemError) {
        try write(Self.foreignName(beside: database), identity)
    }

    /// What was last requested.
    package func readIntent() -> Reading<Intent> {
        read(Name.intent) { (found: Intent) in
            found.session != nil && Self.years.contains(found.startedAt)
        }
    }

    /// Durable when it returns, which is before the user gets an answer.
    package func write(_ intent: Intent) throws(SystemError) {
        try write(Name.intent, intent)
    }

    /// What SetExtras has changed.
    package func readExtras() -> Reading<Extras> {
        read(Name.extras)
    }

    /// Durable when it returns.
    package func write(_ extras: Extras) throws(SystemError) {
        try write(Name.extras, extras)
    }

    /// Limited to times that can be written as a date, in Unix milliseconds.
    private static let years: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    private static func isGood(_ separation: Separation) -> Bool {
        UUIDv7(separation.installID) != nil && UUIDv7(separation.session) != nil
            && separation.database.hasPrefix(Store.foreignPrefix) && !separation.database.contains("/")
            && years.contains(separation.startedAt)
    }
}
