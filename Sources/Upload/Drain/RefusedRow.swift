package import Base

/// Decides whether the oldest row of a one-row destination is to blame for being refused, or the destination.
///
/// A foreign server's refusal may be about the vehicle, a quota or the url, and then every row meets it: none may be lost
/// for that. But one row that the server can never take must not block all others for ever. So a row that was refused
/// permanently on three scheduled runs is followed by the next one as a probe. If that is accepted, the row is to blame.
package struct RefusedRow: Equatable, Sendable {
    /// Scheduled runs.
    package static let limit = 3

    /// What follows a refusal.
    package enum Step: Equatable, Sendable {
        /// Nothing until the next run.
        case wait
        /// Send the row after it, and say how that went. If there is none, wait.
        case probeNext
    }

    /// What follows a probe.
    package enum Fate: Equatable, Sendable {
        /// The row becomes a dead letter; the one that was the probe is acknowledged.
        case deadLetter(UUIDv7)
        /// Both rows stay.
        case keep
    }

    /// The id of the batch with the oldest row, if it was refused. Must be stored with `refusals`, because a run may be the
    /// only one between two power cuts.
    package private(set) var row: UUIDv7?
    /// Scheduled runs on which it was. 0…`limit`.
    package private(set) var refusals: Int

    /// - Parameters: as stored. A change of the url or of anything that decides the bytes of a request begins anew.
    package init(row: UUIDv7? = nil, refusals: Int = 0) {
        self.row = row
        self.refusals = row == nil ? 0 : min(max(refusals, 0), Self.limit)
    }

    /// The oldest row was refused permanently.
    ///
    /// - Parameters:
    ///   - doubt: the refusal is a 2xx that is not believed. A page is never about a row.
    ///   - isScheduled: on a scheduled run. Someone who tries again and again must not make a dead letter of it.
    package mutating func refused(_ row: UUIDv7, doubt: Doubt?, isScheduled: Bool) -> Step {
        guard doubt != .page else { return .wait }
        if self.row != row { self = RefusedRow(row: row) }
        if isScheduled { refusals = min(refusals + 1, Self.limit) }
        return refusals == Self.limit ? .probeNext : .wait
    }

    /// The row after it was sent.
    package mutating func probed(_ verdict: Verdict) -> Fate {
        switch verdict {
        case .accepted:
            guard let row, refusals == Self.limit else { return .keep }
            self = RefusedRow()
            return .deadLetter(row)
        case .rejected, .unauthorised, .transient, .permanent: return .keep
        }
    }
}
