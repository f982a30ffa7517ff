internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Reads the bodies of requests, as far as they fit into what is left of the budget.
struct BodyReader: Sendable {
    let budget: ByteBudget

    /// - Parameter limit: bytes; more are 413.
    func read(_ request: Request, limit: Int) async throws -> (bytes: ByteBuffer, lease: ByteBudget.Lease) {
        var length = limit
        if let text = request.headers[.contentLength] {
            guard let value = Int(text), value >= 0 else {
                throw Problem(.badRequest, "Content-Length is no number.")
            }
            length = value
        }
        guard length <= limit else { throw Self.tooLong(limit) }
        guard let lease = budget.take(length) else {
            var random = SystemRandomNumberGenerator()
            throw Problem.busy(using: &random)
        }
        var bytes = ByteBuffer()
        for try await part in request.body {
            guard bytes.readableBytes + part.readableBytes <= length else { throw Self.tooLong(limit) }
            bytes.writeImmutableBuffer(part)
        }
        return (bytes, lease)
    }

    private static func tooLong(_ limit: Int) -> Problem {
        Problem(.contentTooLarge, "The body has more than \(limit) bytes.")
    }
}
