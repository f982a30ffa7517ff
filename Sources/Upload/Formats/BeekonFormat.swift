package import Base
internal import DaemonConfiguration
package import Envelope
package import Tracking

/// The format `beekon`: one JSON object a batch, compressed with gzip, in a POST; answered as the upload contract says.
package struct BeekonFormat: ~Copyable {
    private var payload: BeekonPayload
    /// nil until there is something to compress: it takes a quarter of a megabyte.
    private var gzip: Gzip?

    /// - Parameter params: additions to every envelope.
    package init(device: Device, params: BodyFields = BodyFields()) {
        payload = BeekonPayload(device: device, params: params)
    }

    /// Rows become a request.
    ///
    /// - Parameter extras: a JSON object, as it was stored; nil when there are none.
    /// - Returns: nil when zlib fails.
    package mutating func request(
        batch: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, locations: [Location],
        events: [GeofenceEvent] = [], vehicleEvents: [VehicleEvent] = []
    ) -> Request? {
        let bytes = payload.encode(
            batch: batch, session: session, sentAt: sentAt, extras: extras, locations: locations,
            events: events, vehicleEvents: vehicleEvents)
        if gzip == nil { gzip = Gzip() }
        return gzip?.compress(bytes).map { Self.request(body: $0) }
    }

    /// A request without rows.
    ///
    /// - Parameters:
    ///   - extras: a JSON object; nil when there are none.
    ///   - results: of commands, a JSON object each.
    /// - Returns: nil when zlib fails.
    package mutating func envelope(
        _ id: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, status: VehicleStatus,
        results: [String]
    ) -> Request? {
        let bytes = payload.encode(
            envelope: id, session: session, sentAt: sentAt, extras: extras, status: status, results: results)
        if gzip == nil { gzip = Gzip() }
        return gzip?.compress(bytes).map { Self.request(body: $0) }
    }

    /// Gives back zlib's memory, and the buffer, which has the size of the longest body.
    package mutating func reset() {
        gzip = nil
        payload = BeekonPayload(device: payload.device, params: payload.params)
    }

    /// A request with a body that this format made earlier: a frozen batch goes out again to the byte.
    package static func request(body: [UInt8]) -> Request {
        Request(format: .beekon, contentType: "application/json", encoding: "gzip", body: body)
    }

    static func judge(
        _ answer: Answer, acknowledging id: UUIDv7?, saying acceptance: Acceptance? = nil, at time: Timestamp
    ) -> Judgement {
        Judgement(
            status: answer.status, retryAfter: answer.retryAfter.flatMap { RetryAfter.seconds($0, at: time) },
            doubt: doubt(answer, acknowledging: id?.description) ?? acceptance?.doubt(answer))
    }

    /// Why the answer would not be believed if it is a 2xx.
    ///
    /// - Parameter id: the `batch_id` that the body must contain, once; nil: none is demanded.
    static func doubt(_ answer: Answer, acknowledging id: String?) -> Doubt? {
        if let doubt = answer.pageDoubt { return doubt }
        guard let id else { return nil }
        guard case .object(let members)? = Acceptance.json(answer),
            case .string(let acknowledged)? = members["batch_id"],
            // Some backends write ids in upper case.
            acknowledged.lowercased() == id.lowercased()
        else { return .noAck }
        return nil
    }
}

extension BeekonFormat {
    /// What this status most likely means at servers of this format, and what to do; nil where it means what it always does.
    static func advice(_ status: Int) -> String? {
        switch status {
        case 400, 422:
            "The server rejects the batch (\(status)): its log says why, and beekonctl rejected list shows the rows."
        case 404: "The server has nothing at this path (404): correct url."
        default: nil
        }
    }
}
