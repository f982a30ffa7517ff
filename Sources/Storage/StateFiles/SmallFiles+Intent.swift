package import Base
package import Linux

/// What the user last asked for.
extension SmallFiles {
    /// What the user last asked for.
    package struct Intent: Codable, Equatable, Sendable {
        /// What can be asked for.
        package enum State: String, Codable, Sendable { case tracking, stopped }

        /// What was asked for last.
        package var state: State
        /// The current session, or the latest one.
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

    /// Limited to times that can be written as a date, in Unix milliseconds.
    static let years: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
}
