import Base
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// What a real receiver said in one epoch while it stood.
private struct Sighting {
    var latitude: Double
    var longitude: Double
    /// Metres per second.
    var speed: Double
    /// As gpsd makes it of the HDOP.
    var accuracy: Double
}

/// The folder of recordings (`BEEKOND_GNSS_LOGS`), which are not part of the project.
private var logs: String? { getenv("BEEKOND_GNSS_LOGS").map { String(cString: $0) } }

private func content(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return bytes
}

/// The valid RMC sentences, each with the HDOP of the latest GGA before.
private func sightings(_ name: String) -> [Sighting] {
    var hdop = 1.0
    var sightings: [Sighting] = []
    for line in content((logs ?? "") + "/" + name).split(separator: UInt8(ascii: "\n")) {
        let fields = String(decoding: line, as: UTF8.self).split(
            separator: ",", omittingEmptySubsequences: false)
        guard let kind = fields.first, kind.count == 6, kind.hasPrefix("$") else { continue }
        if kind.hasSuffix("GGA"), fields.count > 8 { hdop = Double(fields[8]) ?? hdop }
        guard kind.hasSuffix("RMC"), fields.count > 7, fields[2] == "A", let latitude = Double(fields[3]),
            let longitude = Double(fields[5]), let knots = Double(fields[7])
        else { continue }
        func degrees(_ value: Double) -> Double {
            (value / 100).rounded(.down) + value.truncatingRemainder(dividingBy: 100) / 60
        }
        sightings.append(
            Sighting(
                latitude: degrees(latitude), longitude: degrees(longitude), speed: knots * 1852 / 3600,
                accuracy: 19 * hdop))
    }
    return sightings
}

/// Circles and polygons whose southern edges, and tips, lie up to 20 m from there.
private func fencesAround(_ place: Sighting) throws -> [Geofences.Item] {
    var fences: [Geofence] = []
    let scale = LocalScale(latitude: place.latitude)
    for edge in [-20.0, -10, -3, 0, 3, 10, 20] {
        func corner(_ east: Double, _ north: Double) -> [Double] {
            [place.longitude + east / scale.east, place.latitude + (edge + north) / scale.north]
        }
        let centre = corner(0, 100)
        fences.append(
            try Geofence(id: "circle \(edge)", latitude: centre[1], longitude: centre[0], radius: 100))
        let square = [corner(-100, 0), corner(100, 0), corner(100, 200), corner(-100, 200)]
        fences.append(try Geofence(id: "square \(edge)", ring: square))
        fences.append(
            try Geofence(id: "tip \(edge)", ring: [corner(0, 0), corner(60, 200), corner(-60, 200)]))
    }
    return fences.enumerated().map { Geofences.Item(key: Int64($0), fence: $1) }
}

@Test(
    "parked for 12 hours with the jitter of real receivers: 0 m, no trip, and at most one event of a fence at whose edge it is",
    .enabled(if: logs != nil, "BEEKOND_GNSS_LOGS names no folder with recordings"),
    arguments: ["telit-he910.log", "quectel-l76k-nmea.log", "skytraq-dgps.log"], [true, false])
func parkedReplay(name: String, hasSpeed: Bool) throws {
    let seen = sightings(name)
    try #require(seen.count > 90)
    var admission = Admission(
        thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100)))
    var odometer = Odometer()
    var trips = Trips()
    var (arrived, changes) = (0.0, 0)
    var fences = Geofences(try fencesAround(seen[0]))
    var events: [String: Int] = [:]
    for second in 0..<(60 + 12 * 3600) {
        // Arrives from the south; the recording then runs forwards and backwards, so that it never jumps.
        let turn = max(second - 60, 0) % (2 * seen.count - 2)
        let sighting = seen[turn < seen.count ? turn : 2 * seen.count - 2 - turn]
        let metresLeft = Double(max(60 - second, 0)) * 10
        let speed = second < 60 ? 10 : sighting.speed
        let fix = Fix(
            time: Timestamp(milliseconds: start).advanced(bySeconds: Double(second)), mode: 3,
            coordinate: try #require(
                Coordinate(
                    latitude: sighting.latitude - metresLeft / 111_320, longitude: sighting.longitude)),
            accuracy: sighting.accuracy, speed: hasSpeed ? speed : nil)
        let observed = admission.observe(fix)
        odometer.observe(observed, ignition: nil)
        changes += trips.observe(observed, odometer: odometer.metres, ignition: nil).count
        if second == 62 { arrived = odometer.metres }
        // Whoever arrives may enter.
        for crossing in fences.judge(observed.fix, isParked: observed.isParked).crossings where second > 120 {
            events[crossing.geofence, default: 0] += 1
        }
    }
    #expect(odometer.metres == arrived)
    #expect(events.values.allSatisfy { $0 <= 1 }, "\(events)")
    #expect(arrived > 500)
    #expect(admission.motion == .stationary)
    #expect(changes == 2)
}
