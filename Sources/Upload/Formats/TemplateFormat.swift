package import Base
package import DaemonConfiguration
internal import Envelope
package import Tracking

/// The format `template`: a body in a shape that the backend chose, with the method that it chose; answered as the upload
/// contract says.
package struct TemplateFormat: ~Copyable {
    private var payload: TemplatePayload
    private let shape: TemplateShape
    private let method: Request.Method
    private let contentType: String
    private let isCompressed: Bool
    /// nil until there is something to compress.
    private var gzip: Gzip?

    /// - Parameter installID: of this installation.
    package init(_ settings: Settings.Template, installID: String) {
        payload = TemplatePayload(
            shape: settings.shape, deviceID: settings.deviceID ?? "", installID: installID)
        shape = settings.shape
        method = settings.method
        contentType = settings.contentType ?? settings.shape.body.contentType
        isCompressed = settings.compress
    }

    /// Bytes of a body before it is compressed, which is held in memory several times over on its way.
    private static let bodyLimit = 8 << 20

    /// How many locations a request may hold at most, and as many events: templates and extras can be large.
    ///
    /// - Parameter extras: those of the rows.
    package func rowLimit(extras: String?) -> Int {
        max(1, Self.bodyLimit / (2 * shape.recordSize(extras: extras)))
    }

    /// Rows become a request.
    ///
    /// - Parameters:
    ///   - extras: a JSON object, as it was stored; nil when there are none.
    ///   - locations: with the events exactly one row, where the shape is no array.
    /// - Returns: nil for another number of rows, for events without a template, or when zlib fails.
    package mutating func request(
        session: UUIDv7, extras: String?, locations: [Location], events: [GeofenceEvent] = []
    ) -> Request? {
        let records =
            locations.map { TemplateRecord($0) }
            + events.map { event in
                TemplateRecord(event, at: locations.last { $0.fix.time == event.crossing.time })
            }
        guard var body = payload.encode(session: session, extras: extras, records: records) else {
            return nil
        }
        guard !shape.isQuery else {
            return Request(
                format: .template, method: method, query: String(decoding: body, as: UTF8.self), body: [])
        }
        if isCompressed {
            if gzip == nil { gzip = Gzip() }
            guard let compressed = gzip?.compress(body) else { return nil }
            body = compressed
        }
        return Request(
            format: .template, method: method, contentType: contentType,
            encoding: isCompressed ? "gzip" : nil, body: body)
    }

    /// Gives back zlib's memory, and the buffer, which has the size of the longest body.
    package mutating func reset() {
        gzip = nil
        payload.reset()
    }
}

extension TemplateFormat {
    /// What this status most likely means at servers of this format, and what to do; nil where it means what it always does.
    static func advice(_ status: Int) -> String? {
        switch status {
        case 400, 422:
            "The server rejects the request (\(status)): its log says why, and beekonctl rejected list shows the rows. Compare "
                + "what it expects with location_template, geofence_template, root_property and batch_size."
        case 405: "The server does not take this method here (405): correct method or url."
        case 414, 431:
            "The server finds the url too long (\(status)): shorten location_template, or send it in a body (method, body)."
        case 415:
            "The server does not take this kind of body (415): set compress to false, or correct body, a Content-Type in "
                + "headers, or url."
        default: BeekonFormat.advice(status)
        }
    }
}
