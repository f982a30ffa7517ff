internal import Accounts
internal import Base
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServerStore

/// `POST /v1/token`: a refresh token buys the next pair (RFC 6749, section 6, and its words for what fails).
struct TokenExchange: Sendable {
    let store: Store
    let bodies: BodyReader
    let gatekeeper: Gatekeeper
    let lifetime: Double
    let meters: Meters
    let logger: Logger

    func answer(_ request: Request, now: Timestamp) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let text: String
        do throws(Problem) {
            guard try fields.text("grant_type") == "refresh_token" else {
                return Self.refusal("unsupported_grant_type", "grant_type must be refresh_token.")
            }
            text = try fields.text("refresh_token")
        } catch {
            return Self.refusal("invalid_request", error.detail)
        }
        guard let secret = Secret(text), secret.kind == .refresh else { return Self.refusal("invalid_grant") }
        let lifetime = lifetime
        let exchange = try await store.write { session throws(StoreError) in
            try Devices.exchange(secret, lifetime: lifetime, now: now, in: session)
        }
        guard case .sold(let pair) = exchange else {
            tell(exchange, of: secret.owner)
            return Self.refusal("invalid_grant")
        }
        gatekeeper.forget(secret.owner)
        return Self.response(
            .ok,
            #"{"access_token":"\#(pair.access.text)","token_type":"Bearer","expires_in":\#(Int(lifetime)),"#
                + #""refresh_token":"\#(pair.refresh.text)"}"#)
    }

    private func tell(_ exchange: Devices.Exchange, of device: Int64) {
        switch exchange {
        case .sold, .refused: break
        case .overtaken: meters.noteEndedToken(isLate: false)
        case .shownAgain:
            meters.noteEndedToken(isLate: true)
            logger.warning(
                "device \(device): a refresh token that ended long ago was shown again: copied, restored from a backup, or stolen. If the vehicle uploads nothing, it needs new tokens"
            )
        }
    }

    /// - Parameter description: a sentence of this server's own.
    private static func refusal(_ word: String, _ description: String? = nil) -> Response {
        let more = description.map { #","error_description":"\#($0)""# } ?? ""
        return response(.badRequest, #"{"error":"\#(word)"\#(more)}"#)
    }

    private static func response(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text + "\n")))
    }
}
