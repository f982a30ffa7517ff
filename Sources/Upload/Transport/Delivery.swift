package import Base
package import DaemonConfiguration

/// What one request came to, whatever carried it.
package enum Delivery: Equatable, Sendable {
    case answer(ServerAnswer)
    case failure(TransportFailure)
    /// An answer that was not made for this request, with the words for why. Its connection has been closed, and nothing of it
    /// counts.
    case unmatched(String)
    /// The caller ended it.
    case cancelled

    init(_ outcome: HTTPOutcome) {
        self =
            switch outcome {
            case .answer(let answer): .answer(.http(answer))
            case .failure(let failure): .failure(failure)
            case .cancelled: .cancelled
            }
    }

    init(_ outcome: MQTTOutcome) {
        self =
            switch outcome {
            case .answer(let answer): .answer(.mqtt(answer))
            case .unmatched(let words): .unmatched(words)
            case .failure(let failure): .failure(failure)
            case .cancelled: .cancelled
            }
    }
}

/// An answer, in the language that it was given in.
package enum ServerAnswer: Equatable, Sendable {
    /// A server's.
    case http(Answer)
    /// A broker's.
    case mqtt(MQTTAnswer)

    /// What it means for the request.
    ///
    /// - Parameters:
    ///   - kind: what the request carried.
    ///   - batch: its id.
    ///   - sync: the settings by now; nil when the destination has no url any more.
    ///   - time: the best clock known, for a `Retry-After` that is a date.
    package func judged(
        as format: Format, _ kind: ShipmentKind = .rows, of batch: UUIDv7, by sync: Settings.Sync?,
        at time: Timestamp
    ) -> Judgement {
        switch self {
        // Nobody but the server decides what the log is answered with.
        case .http(let answer) where kind == .log: format.judge(answer, acknowledging: nil, at: time)
        case .http(let answer):
            format.judge(
                answer, acknowledging: sync?.requireAck == false ? nil : batch,
                saying: sync.flatMap { Acceptance($0) },
                rejecting: kind.hasRows && sync.map { $0.onReject != .keep } ?? false, at: time)
        case .mqtt(let answer):
            OwnTracksMQTT.judge(answer, acceptsUnsubscribed: sync?.mqtt?.acceptUnsubscribed ?? false)
        }
    }

    /// What the server says of its refusal: see ``Answer/reason(hiding:)``. A broker says it by its code.
    package func reason(hiding hide: (String) -> String) -> String? {
        if case .http(let answer) = self { answer.reason(hiding: hide) } else { nil }
    }
}
