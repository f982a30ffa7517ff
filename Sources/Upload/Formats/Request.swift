/// What one batch looks like on its way, whatever its destination. `RequestFactory` adds where it goes and how.
package struct Request: Equatable, Sendable {
    /// The format that made it, which also judges the answer.
    package var format: Format
    /// The request method.
    package var method: Method
    /// Appended to the configured url, verbatim: a path or a query.
    package var suffix: String
    /// The media type of the body before it was encoded.
    package var contentType: String
    /// The content coding of the body; nil for none.
    package var encoding: String?
    /// As it goes out.
    package var body: [UInt8]

    /// What `HTTPClient` can do.
    package enum Method: String, Sendable {
        case post = "POST"
    }
}
