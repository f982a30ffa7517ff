package import Base

/// How batches are written, and how answers to them are read. One file for each in this folder; the raw value is its name.
package enum Format: String, Sendable {
    /// beekond's own: `BeekonFormat`.
    case beekon

    /// A request with a body that this format made earlier: a frozen batch goes out again to the byte.
    package func request(body: [UInt8]) -> Request {
        switch self {
        case .beekon: BeekonFormat.request(body: body)
        }
    }

    /// What an answer means.
    ///
    /// - Parameters:
    ///   - id: the batch that the body of a 2xx must acknowledge to be believed; nil when no acknowledgement is demanded.
    ///   - time: the best clock known, for a `Retry-After` that is a date.
    package func judge(_ answer: Answer, acknowledging id: UUIDv7?, at time: Timestamp) -> Judgement {
        switch self {
        case .beekon: BeekonFormat.judge(answer, acknowledging: id, at: time)
        }
    }
}
