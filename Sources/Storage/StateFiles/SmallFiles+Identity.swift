package import Base
package import Linux

/// Who this installation is.
extension SmallFiles {
    /// Who this installation is.
    package struct Identity: Codable, Equatable, Sendable {
        /// A UUIDv7, as it stands in every upload.
        package var installID: String
        /// What identified the machine: digests, by the name of the trait. nil in a file of the first layout.
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

    private static func isGood(_ separation: Separation) -> Bool {
        UUIDv7(separation.installID) != nil && UUIDv7(separation.session) != nil
            && separation.database.hasPrefix(DatabaseFiles.foreignPrefix)
            && !separation.database.contains("/")
            && years.contains(separation.startedAt)
    }
}
