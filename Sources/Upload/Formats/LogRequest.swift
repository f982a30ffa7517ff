internal import DaemonConfiguration
internal import Envelope

/// The daemon's own log, for a server that has asked for it with `upload_log`: lines of text, compressed with gzip, in a POST
/// to the origin of its destination. No format has a say in it.
package enum LogRequest {
    /// Takes the place of the path and query of the destination's url, unless the server names another.
    package static let path = "/v1/logs"

    /// - Parameter lines: UTF-8, each with its line break.
    /// - Returns: nil when zlib fails.
    package static func request(_ lines: [UInt8], at path: String = path) -> Request? {
        // Once an hour at most: its quarter of a megabyte is not worth keeping.
        guard let gzip = Gzip(), let body = gzip.compress(lines) else { return nil }
        return Request(
            format: .beekon, contentType: "text/plain; charset=utf-8", encoding: "gzip", path: path,
            body: body)
    }
}
