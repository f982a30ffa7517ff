internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Reads the bodies of requests, as far as they fit into what is left of the budget.
///
/// A body is charged for what has arrived of it. Were it charged for what it announces, a few senders that announce much and
/// send a byte now and then would shut everybody else out.
struct BodyReader: Sendable {
    let budget: ByteBudget

    /// - Parameter limit: bytes; more are 413.
    func read(_ request: Request, limit: Int) async throws -> (bytes: ByteBuffer, lease: ByteBudget.Lease) {
        var length = limit
        if let text = request.headers[.contentLength] {
            guard let value = Int(text), value >= 0 else {
                throw Problem(.badRequest, "Content-Length is not a number.")
            }
            length = value
            // What has no room is refused before it is on its way.
            guard length > limit || budget.hasRoom(for: length) else { throw Self.busy }
        }
        guard length <= limit else { throw Self.tooLong(limit) }
        guard let lease = budget.take(0) else { throw Self.busy }
        var bytes = ByteBuffer()
        for try await part in request.body {
            guard bytes.readableBytes + part.readableBytes <= length else { throw Self.tooLong(limit) }
            guard lease.grow(by: part.readableBytes) else { throw Self.busy }
            bytes.writeImmutableBuffer(part)
        }
        return (bytes, lease)
    }

    /// - Throws: a 503 when the budget has not as many left.
    func take(_ bytes: Int) throws -> ByteBudget.Lease {
        guard let lease = budget.take(bytes) else { throw Self.busy }
        return lease
    }

    private static var busy: Problem {
        var random = SystemRandomNumberGenerator()
        return Problem.busy(using: &random)
    }

    private static func tooLong(_ limit: Int) -> Problem {
        Problem(.contentTooLarge, "The body has more than \(limit) bytes.")
    }
}
