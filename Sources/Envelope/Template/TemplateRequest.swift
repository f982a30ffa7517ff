package import Base

/// A request of the format `template`, apart from where it goes and with which credentials.
package struct TemplateRequest: Equatable, Sendable {
    package let method: TemplateShape.Method
    /// Lines beside those that each request has.
    package let headers: [String]
    /// The content coding of the body; nil for none.
    package let encoding: String?
    /// As it goes out.
    package let body: [UInt8]

    /// Tells a server that a batch comes again, as `batch_id` does where the body has one
    /// (draft-ietf-httpapi-idempotency-key-header; the quotation marks are part of it there, and servers in use do
    /// without them).
    package static func idempotencyKey(_ batch: UUIDv7) -> String {
        "Idempotency-Key: \(batch)"
    }
}
