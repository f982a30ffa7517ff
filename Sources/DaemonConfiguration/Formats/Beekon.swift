package import Envelope

extension Settings {
    /// Beekon's own envelope, always gzip.
    package struct Beekon: DestinationFormat {
        /// What `device.platform` says as a rule.
        package static let usualPlatform = "linux"
        package static let traits = FormatTraits(
            isOneRow: false, isForeign: false, namesBatch: true, needsDeviceID: false,
            geofenceEvents: .always,
            vehicleEvents: .always, hasOdometer: false, battery: .never, heartbeat: .envelope,
            takesEmptyBatch: true)

        /// Further root fields, which may be secrets; none takes the name of a field of the envelope.
        package var params = BodyFields()
        package var order = Order.oldest
        /// What `device.platform` says.
        package var platform = usualPlatform

        package init() {}

        package var identity: String {
            (params.isEmpty ? "" : " beekon \(params.text)")
                + (platform == Self.usualPlatform ? "" : " platform \(platform)")
        }

        package var secretTexts: [String] { params.texts }
    }
}
