package import Base
package import DaemonConfiguration
internal import Envelope

/// How batches are written, and how answers to them are read. One file for each in this folder.
package typealias Format = Settings.Format.Name

extension Format {
    /// What shows whether a destination of this format works, and changes nothing there that matters.
    package enum Harmless: Equatable, Sendable {
        /// A batch without rows.
        case emptyBatch
        /// The newest location. The server stores it, so the user is asked first.
        case newestLocation
    }

    /// What an answer means.
    ///
    /// - Parameters:
    ///   - id: the batch that the body of a 2xx must acknowledge to be believed; nil when no acknowledgement is demanded.
    ///     Foreign servers know no batches.
    ///   - acceptance: what else the body must say; nil: what is usual for the format.
    ///   - rejects: the configuration makes dead letters of what a foreign server refuses.
    ///   - time: the best clock known, for a `Retry-After` that is a date.
    package func judge(
        _ answer: Answer, acknowledging id: UUIDv7?, saying acceptance: Acceptance? = nil,
        rejecting rejects: Bool = false, at time: Timestamp
    ) -> Judgement {
        switch self {
        case .beekon, .template:
            return BeekonFormat.judge(answer, acknowledging: id, saying: acceptance, at: time)
        case .overland:
            let acceptance = acceptance ?? OverlandFormat.acceptance
            var judgement = Self.foreign(
                answer, doubt: answer.pageDoubt ?? acceptance.doubt(answer), rejecting: rejects, at: time)
            guard judgement.verdict == .accepted else { return judgement }
            judgement.isSilent = acceptance.read(answer) == .silent
            judgement.saved = OverlandFormat.saved(answer)
            return judgement
        case .owntracks, .osmand:
            return Self.foreign(answer, doubt: answer.pageDoubt, rejecting: rejects, at: time)
        }
    }

    private static func foreign(
        _ answer: Answer, doubt: Doubt?, rejecting rejects: Bool, at time: Timestamp
    ) -> Judgement {
        Judgement(
            status: answer.status, retryAfter: answer.retryAfter.flatMap { RetryAfter.seconds($0, at: time) },
            doubt: doubt, rejecting: rejects ? .whateverMayBeMeant : .none)
    }
}

extension Settings.Sync {
    /// See `Format.Harmless`. Where a record of a template is the body, there is no batch that could be empty; and what a
    /// server says to no line at all means nothing.
    package var harmless: Format.Harmless {
        if case .template(let own) = format {
            return own.shape.isBatching && own.shape.body == .json ? .emptyBatch : .newestLocation
        }
        return format.name.traits.takesEmptyBatch ? .emptyBatch : .newestLocation
    }
}
