package import Base
internal import DaemonConfiguration
internal import Envelope

/// Tells an answer from one that belongs to an earlier request on the same connection. Pure.
///
/// HTTP/1.1 counts: the first answer that arrives is taken for that of the request under way. A server or proxy that answers
/// one request twice acknowledges the next one with it, which it may never have received. Servers that name the batch in
/// their answer (`batch_id`) give that away.
package struct AnswerMatching: Sendable {
    /// What is refused, perhaps. What is made anew for each attempt has another id each time.
    private enum Subject: Equatable {
        case batch(UUIDv7)
        case fresh(ShipmentKind)
    }

    /// Ids of one connection that are remembered. A second answer is noticed at the request that follows it.
    private static let limit = 1024

    /// Ids sent over the connection, the latest last.
    private var sent: [UUIDv7] = []
    /// An acceptance on this connection has named its batch.
    private var namesBatches = false
    private var connection = 0

    /// Refusals in a row that were not believed, and of what.
    private var unbelieved: (count: Int, of: Subject)?
    /// After so many the next is taken at its word: a server may refuse before it has read everything, and may name in its
    /// refusals what it likes.
    private static let unbelievedLimit = 2

    /// Nothing has been sent.
    package init() {}

    /// Whether an answer belongs to another request than the one that was sent last.
    ///
    /// - Parameters:
    ///   - id: of the batch, or envelope, in that request.
    ///   - connection: the number of the one that it went over; another one begins with nothing.
    /// - Returns: what gives it away, in words; nil when nothing does.
    package mutating func fault(
        _ answer: Answer, to id: UUIDv7, in format: Format, _ content: ShipmentKind, over connection: Int
    ) -> String? {
        if connection != self.connection { (sent, namesBatches, self.connection) = ([], false, connection) }
        defer { if content != .log { remember(id) } }
        guard let fault = fault(answer, to: id, in: format, content) else {
            unbelieved = nil
            return nil
        }
        guard answer.isRefusal else {
            unbelieved = nil
            return fault
        }
        let subject = content == .rows ? Subject.batch(id) : .fresh(content)
        let count = unbelieved?.of == subject ? unbelieved?.count ?? 0 : 0
        unbelieved = count < Self.unbelievedLimit ? (count + 1, subject) : nil
        return unbelieved == nil ? nil : fault
    }

    /// A request has come to no answer: refusals before it and after it are not in a row.
    package mutating func unanswered() {
        unbelieved = nil
    }

    /// What servers say of themselves, such as 503, is true whatever they have read.
    private mutating func fault(
        _ answer: Answer, to id: UUIDv7, in format: Format, _ content: ShipmentKind
    ) -> String? {
        guard answer.isAcceptance || answer.isRefusal else { return nil }
        if answer.isEarly { return "it came before the whole request had arrived" }
        guard content != .log else { return nil }
        let named = answer.namedBatch
        if named == id {
            namesBatches = namesBatches || answer.isAcceptance && content.hasRows
        } else if let named, format == .beekon || sent.contains(named) {
            return "it names batch \(named)"
        } else if answer.isAcceptance, named == nil, namesBatches, content.hasRows {
            return "it names no batch, and those before it did"
        }
        return nil
    }

    private mutating func remember(_ id: UUIDv7) {
        guard sent.last != id else { return }
        if sent.count == Self.limit { sent.removeFirst(Self.limit / 2) }
        sent.append(id)
    }
}

extension Answer {
    fileprivate var isAcceptance: Bool { (200...299).contains(status) }

    /// The request is refused for good.
    fileprivate var isRefusal: Bool { status == 400 || status == 422 }

    /// The UUID that its body, a JSON object, has as `batch_id`; nil without one, or when it cannot be read.
    fileprivate var namedBatch: UUIDv7? {
        guard isReadable, body.contains(UInt8(ascii: "{")),
            case .object(let members)? = JSONReader.read(body),
            case .string(let text)? = members["batch_id"]
        else { return nil }
        return UUIDv7(text)
    }
}
