package import HTTPTypes
internal import Hummingbird
package import NIOCore

extension Server {
    /// Answers one request without a network, with the rights of the local socket: for a verb when no server runs.
    ///
    /// - Returns: the status, and the whole body.
    package func perform(
        _ method: HTTPRequest.Method, _ path: String, body: String
    ) async throws -> (status: Int, body: ByteBuffer) {
        let responder = responder(isLocal: true)
        let request = Request(
            head: HTTPRequest(
                method: method, scheme: nil, authority: nil, path: path,
                headerFields: [.contentType: "application/json"]),
            body: RequestBody(buffer: ByteBuffer(string: body)))
        let response = try await responder.respond(to: request)
        let collector = Collector()
        try await response.body.write(collector)
        return (response.status.code, collector.bytes)
    }

    /// Keeps what is written.
    private final class Collector: ResponseBodyWriter {
        var bytes = ByteBuffer()

        func write(_ buffer: ByteBuffer) async throws {
            bytes.writeImmutableBuffer(buffer)
        }

        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
