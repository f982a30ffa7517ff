package import Base
package import Tracking

/// What the user last asked for.
package struct StoredIntent: SmallFileContent, Equatable {
    /// What can be asked for.
    package enum State: String, Codable, Sendable { case tracking, stopped }

    /// What was asked for last.
    package var state: State
    /// The current session, or the latest one.
    package var sessionID: String
    /// Unix milliseconds.
    package var startedAt: Int64
    /// A raw value of `Wish.Origin`; nil in a file of an earlier version, which knew persons only.
    package var origin: String?
    /// When, in Unix milliseconds; nil when the time was not known.
    package var decidedAt: Int64?
    /// When a person's stop came by the best clock there was, in Unix milliseconds; nil for another's, and in a file of an
    /// earlier version.
    package var stoppedAt: Int64?
    /// What somebody says the vehicle does, as `MotionState` has it, until a fix has gone by it; nil: nothing.
    package var motion: String?

    /// What is to be persisted before the user gets an answer.
    ///
    /// - Parameters:
    ///   - origin: nil: a person.
    ///   - decidedAt: nil when the time is not known.
    ///   - stoppedAt: nil unless a person stops.
    ///   - motion: what somebody says the vehicle does; nil: nothing.
    package init(
        state: State, session: UUIDv7, startedAt: Timestamp, origin: Wish.Origin? = nil,
        decidedAt: Timestamp? = nil, stoppedAt: Timestamp? = nil, motion: MotionState? = nil
    ) {
        self.state = state
        sessionID = session.description
        self.startedAt = startedAt.milliseconds
        self.origin = origin?.rawValue
        self.decidedAt = decidedAt?.milliseconds
        self.stoppedAt = stoppedAt?.milliseconds
        self.motion = motion?.rawValue
    }

    /// Another has asked for the same, or at another time.
    package mutating func take(_ wish: Wish) {
        origin = wish.origin.rawValue
        decidedAt = wish.time?.milliseconds
    }

    /// The intent as a wish.
    package var wish: Wish {
        Wish(
            tracks: state == .tracking, origin: origin.flatMap { Wish.Origin(rawValue: $0) } ?? .person,
            time: decidedAt.map { Timestamp(milliseconds: $0) })
    }

    /// The session as a value; nil when the file held something else.
    package var session: UUIDv7? { UUIDv7(sessionID) }

    /// The stated motion as a value; nil also for what only another version knows.
    package var statedMotion: MotionState? { motion.flatMap { MotionState(rawValue: $0) } }

    package static var fileName: String { SmallFiles.Name.intent }

    package var isSound: Bool {
        session != nil && [startedAt, decidedAt, stoppedAt].compactMap(\.self).allSatisfy(Timestamp.isDate)
    }
}

extension Timestamp {
    /// Whether it can be written as a date, in Unix milliseconds.
    static func isDate(_ milliseconds: Int64) -> Bool {
        (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds)
    }
}
