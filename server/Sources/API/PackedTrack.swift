internal import Base
internal import EnvelopeReader

/// Locations as a page needs them to draw a day: 22 bytes each instead of 300.
///
/// Blocks follow one another until the end. Each begins with the number of its locations (UInt32) and a time (Float64, Unix
/// milliseconds); then follow its locations: milliseconds since that time (UInt32), latitude and longitude (Int32, 10⁻⁷
/// degrees), altitude (Int16, half metres; −32768: none), speed (UInt16, cm/s), bearing (UInt16, hundredths of a degree),
/// accuracy (UInt16, decimetres; of these, 65535: none), and `codes` as the database has them. All little-endian. What does
/// not fit is the nearest that does.
enum PackedTrack {
    /// Bytes of a location.
    static let length = 22
    static let mediaType = "application/vnd.beekon.track"

    static func append(_ locations: [LocationRow], to bytes: inout [UInt8]) {
        var rest = locations[...]
        while let first = rest.first {
            let base = first.time.milliseconds
            let block = rest.prefix { UInt32(exactly: $0.time.milliseconds - base) != nil }
            bytes.reserveCapacity(bytes.count + 12 + 22 * block.count)
            put(UInt32(truncatingIfNeeded: block.count), &bytes)
            put(Double(base).bitPattern, &bytes)
            for row in block { append(row, since: base, to: &bytes) }
            rest = rest[block.endIndex...]
        }
    }

    private static func append(_ row: LocationRow, since base: Int64, to bytes: inout [UInt8]) {
        put(UInt32(clamping: row.time.milliseconds - base), &bytes)
        put(whole(row.latitude * 1e7, Int32.min...Int32.max), &bytes)
        put(whole(row.longitude * 1e7, Int32.min...Int32.max), &bytes)
        put(row.altitude.map { whole($0 * 2, Int16.min + 1...Int16.max) } ?? Int16.min, &bytes)
        put(row.speed.map { whole($0 * 100, 0...UInt16.max - 1) } ?? UInt16.max, &bytes)
        put(row.bearing.map { whole($0 * 100, 0...UInt16.max - 1) } ?? UInt16.max, &bytes)
        put(row.accuracy.map { whole($0 * 10, 0...UInt16.max - 1) } ?? UInt16.max, &bytes)
        put(row.codes.rawValue, &bytes)
    }

    /// The nearest whole number within the range; what is no number is its lower end.
    static func whole<Whole: FixedWidthInteger>(_ value: Double, _ range: ClosedRange<Whole>) -> Whole {
        guard value > Double(range.lowerBound) else { return range.lowerBound }
        return Whole(exactly: min(value, Double(range.upperBound)).rounded()) ?? range.upperBound
    }

    private static func put(_ value: some FixedWidthInteger, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
