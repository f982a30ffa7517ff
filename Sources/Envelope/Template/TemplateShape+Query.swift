internal import Base
internal import Tracking

// What stands in a url has an end: servers read some 4,096 to 8,192 bytes of it, host and path included.

extension TemplateShape {
    /// Bytes of the parameters at most, as of the format `osmand`. Extras are left out where they do not fit.
    package static let queryLimit = 3072
    /// Bytes of the longest `device_id`.
    private static let deviceIDLimit = 64

    /// - Throws: where a record alone, with the longest values that there can be, has more bytes than `queryLimit`.
    func checkLength() throws(Invalid) {
        for (key, template) in [("location_template", location), ("geofence_template", geofence)] {
            guard let template, let size = longest(template), size > Self.queryLimit else { continue }
            throw Invalid(
                key: key,
                reason:
                    "the query can have \(size) bytes, and at most \(Self.queryLimit) are sure to be read; shorten it, or params"
            )
        }
    }

    /// - Returns: bytes; nil only if this cannot be found out.
    private func longest(_ template: Template) -> Int? {
        // The smallest number that is no subnormal has as many digits as any.
        let number = -Double.leastNormalMagnitude
        guard let id = UUIDv7(bytes: [UInt8](repeating: 0, count: 16)),
            let coordinate = Coordinate(latitude: number, longitude: number)
        else { return nil }
        let time = Timestamp(milliseconds: .min)
        let fix = Fix(
            time: time, mode: 3, coordinate: coordinate, accuracy: number, speed: number, bearing: number,
            altitude: number, isMock: false)
        let battery = TemplateRecord.Battery(level: number, isCharging: false)
        let fence = String(repeating: "\u{10FFFF}", count: Geofence.idLimit)
        let event = GeofenceEvent(
            id: id, session: id, crossing: Crossing(geofence: fence, kind: .enter, time: time),
            coordinate: coordinate, accuracy: number)
        let location = Location(
            id: id, session: id, fix: fix, trigger: .motion, motion: .stationary, activity: .cycling)
        let device = Array(repeating: UInt8(ascii: "x"), count: Self.deviceIDLimit)
        let sizes = [
            TemplateRecord(location, odometer: number, battery: battery),
            TemplateRecord(event, odometer: number, battery: battery),
        ].map { record in
            var object: [UInt8] = []
            var surroundings = Template.Surroundings(session: id, deviceID: device, installID: device)
            params.append(to: &surroundings.end)
            Template.Renderer(template, in: surroundings).append(record, to: &object)
            return FormText.text(of: object, limit: nil)?.count ?? 0
        }
        return sizes.max()
    }
}
