package import DaemonConfiguration

/// What one batch looks like on its way, whatever its destination: all that is frozen with it. `RequestFactory` adds where
/// it goes and how, credentials included.
package struct Request: Equatable, Sendable {
    /// The format that made it, which also judges the answer.
    package var format: Format
    /// The request method.
    package var method: Method
    /// Parameters for the configured url, percent-encoded, without `?`; empty for none.
    package var query: String
    /// The media type of the body before it was encoded; nil when there is no body.
    package var contentType: String?
    /// The content coding of the body; nil for none.
    package var encoding: String?
    /// What the format adds to the headers of every request. A configured header of the same name takes its place.
    package var headers: [Header]
    /// Where MQTT publishes the body; nil for formats that only HTTP carries. HTTP ignores it.
    package var topic: String?
    /// In place of all that follows host and port in the configured url; nil: that stays. Nothing with rows has one.
    package var path: String?
    /// The bytes that are sent.
    package var body: [UInt8]

    /// What `HTTPClient` can do.
    package typealias Method = Settings.Method

    /// A header of a format's own.
    package struct Header: Equatable, Sendable {
        /// No others: a request that is read back from the disk must not be able to bring a header of any name.
        package enum Name: String, CaseIterable, Sendable {
            /// The user who sends, for servers of OwnTracks.
            case limitUser = "X-Limit-U"
            /// Which of that user's devices sends.
            case limitDevice = "X-Limit-D"
        }

        package var name: Name
        /// Printable ASCII.
        package var value: String

        package init(name: Name, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What most formats have none of may be left out.
    package init(
        format: Format, method: Method = .post, query: String = "", contentType: String? = nil,
        encoding: String? = nil, headers: [Header] = [], topic: String? = nil, path: String? = nil,
        body: [UInt8]
    ) {
        self.format = format
        self.method = method
        self.query = query
        self.contentType = contentType
        self.encoding = encoding
        self.headers = headers
        self.topic = topic
        self.path = path
        self.body = body
    }

    /// Where it goes: the configured url, which may have a query of its own, and this request's parameters after it.
    package func url(_ configured: String) -> String {
        if let path { return Settings.origin(of: configured) + path }
        guard !query.isEmpty else { return configured }
        guard configured.utf8.contains(UInt8(ascii: "?")) else { return configured + "?" + query }
        let isOpen = configured.hasSuffix("?") || configured.hasSuffix("&")
        return configured + (isOpen ? "" : "&") + query
    }
}
