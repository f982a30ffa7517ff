package import Envelope

extension Settings {
    /// A request whose shape the operator decides.
    package struct Template: DestinationFormat {
        package static let traits = FormatTraits(
            isOneRow: false, isForeign: false, namesBatch: false, needsDeviceID: false,
            geofenceEvents: .shaped,
            vehicleEvents: .never, hasOdometer: false, battery: .shaped, heartbeat: .none,
            takesEmptyBatch: true)

        /// What the tag `device_id` stands for; never nil where a template has it.
        package var deviceID: String?
        package var method = Method.post
        /// What the body looks like, its `params`, which may be secrets, included.
        package var shape: TemplateShape
        /// In place of the usual type of that body; nil: that one. Printable ASCII.
        package var contentType: String?
        /// gzip.
        package var compress = false
        package var order = Order.oldest

        package init(shape: TemplateShape) {
            self.shape = shape
        }

        package var vehicle: String? { deviceID }
        package var isOneRow: Bool { !shape.isBatching }
        package var carriesGeofenceEvents: Bool { shape.geofence != nil }
        package var carriesBattery: Bool {
            !shape.tags.isDisjoint(with: [.batteryLevel, .batteryIsCharging])
        }

        package var identity: String {
            " template \(method.rawValue) \(compress) \(shape.identity)"
                + (contentType.map { " \($0)" } ?? "")
        }

        package var secretTexts: [String] { shape.params.texts }
    }

    /// Method of a request, as it is written there.
    package enum Method: String, Sendable, CaseIterable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        /// Without a body: a record is in the query.
        case get = "GET"
    }
}
