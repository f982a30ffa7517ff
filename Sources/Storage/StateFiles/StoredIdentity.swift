package import Base

/// Who this installation is.
package struct StoredIdentity: SmallFileContent, Equatable {
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

    package static var fileName: String { SmallFiles.Name.identity }

    package var isSound: Bool { UUIDv7(installID) != nil && separation?.isSound != false }
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
    package var intent: StoredIntent?

    /// All of it is decided at once.
    package init(
        installID: String, signs: [String: String], database: String, session: UUIDv7,
        startedAt: Timestamp, intent: StoredIntent?
    ) {
        self.intent = intent
        self.installID = installID
        self.signs = signs
        self.database = database
        self.session = session.description
        self.startedAt = startedAt.milliseconds
    }

    fileprivate var isSound: Bool {
        UUIDv7(installID) != nil && UUIDv7(session) != nil && database.hasPrefix(DatabaseFiles.foreignPrefix)
            && !database.contains("/") && Timestamp.isDate(startedAt)
    }
}
