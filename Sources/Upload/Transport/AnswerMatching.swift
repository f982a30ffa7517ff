package import Base
internal import Envelope

/// Tells an answer from one that belongs to an earlier request on the same connection. Pure.
///
/// HTTP/1.1 counts: the first answer that arrives is taken for that of the request under way. A server or proxy that answers
/// one request twice acknowledges the next one with it, which it may never have received. Servers that name the batch in
/// their answer (`batch_id`) give that away.
package struct AnswerMatching: Sendable {
    /// What a request carries.
    package enum Content: Equatable, Sendable {
        /// A batch with rows.
        case rows
        /// A batch without any: its status, results of commands, or nothing.
        case envelope
        /// Lines of the log, which are no batch.
        case log
    }

    /// Ids of one connection that are remembered. A second answer is noticed at the request that follows it.
    private static let limit = 1024

    /// Of the connection, the latest last.
    private var sent: [UUIDv7] = []
    /// An answer on this connection has named its batch.
    private var namesBatches = false
    private var connection = 0

    /// Refusals in a row that came too early to be believed.
    private var earlyRefusals = 0
    /// After so many the next is taken at its word: a server may refuse before it has read everything.
    private static let earlyRefusalLimit = 2

    /// Nothing has been sent.
    package init() {}

    /// Whether an answer belongs to another request than the one that was sent last.
    ///
    /// - Parameters:
    ///   - id: of the batch, or envelope, in that request.
    ///   - connection: the number of the one that it went over; another one begins with nothing.
    /// - Returns: what gives it away, in words; nil when nothing does.
    package mutating func fault(
        _ answer: Answer, to id: UUIDv7, in format: Format, _ content: Content, over connection: Int
    ) -> String? {
        if connection != self.connection { (sent, namesBatches, self.connection) = ([], false, connection) }
        if isEarly(answer) { return "it came before the whole request had arrived" }
        guard content != .log else { return nil }
        defer { remember(id) }
        let isAcceptance = (200...299).contains(answer.status)
        guard isAcceptance || answer.status == 400 || answer.status == 422 else { return nil }
        let named = answer.namedBatch
        if named == id {
            namesBatches = namesBatches || content == .rows
        } else if let named, format == .beekon || sent.contains(named) {
            return "it names batch \(named)"
        } else if isAcceptance, named == nil, namesBatches, content == .rows {
            return "it names no batch, and those before it did"
        }
        return nil
    }

    /// What is no answer to this request, or not yet: what servers say of themselves, such as 503, is true whatever they have
    /// read.
    private mutating func isEarly(_ answer: Answer) -> Bool {
        let isRefusal = answer.status == 400 || answer.status == 422
        if answer.isEarly, isRefusal, earlyRefusals < Self.earlyRefusalLimit {
            earlyRefusals += 1
            return true
        }
        earlyRefusals = 0
        return answer.isEarly && (200...299).contains(answer.status)
    }

    private mutating func remember(_ id: UUIDv7) {
        guard sent.last != id else { return }
        if sent.count == Self.limit { sent.removeFirst(Self.limit / 2) }
        sent.append(id)
    }
}

extension Answer {
    /// The UUID that its body, a JSON object, has as `batch_id`; nil without one, or when it cannot be read.
    fileprivate var namedBatch: UUIDv7? {
        guard isReadable, body.contains(UInt8(ascii: "{")),
            case .object(let members)? = JSONReader.read(body),
            case .string(let text)? = members["batch_id"]
        else { return nil }
        return UUIDv7(text)
    }
}
