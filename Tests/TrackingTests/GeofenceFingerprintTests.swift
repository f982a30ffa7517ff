import Base
import Testing

@testable import Tracking

@Suite("fingerprints of geofences") struct GeofenceFingerprintTests {
    private static func circle(
        _ id: String = "depot", latitude: Double = 52.5163, longitude: Double = 13.3777, radius: Double = 150,
        entry: Bool = true, exit: Bool = true, dwell: Double? = nil
    ) throws -> Geofence {
        try Geofence(
            id: id, latitude: latitude, longitude: longitude, radius: radius, notifiesOnEntry: entry,
            notifiesOnExit: exit, dwell: dwell)
    }

    @Test("those of an independent program") func known() throws {
        #expect(try Self.circle().fingerprint == 0x6EB9_0C31_7F0D_118B)
        let triangle = try Geofence(
            id: "Büro", ring: [[11.5, 48.1], [11.51, 48.1], [11.51, 48.11]], notifiesOnExit: false, dwell: 600
        )
        #expect(triangle.fingerprint == 0x748E_E349_223A_9CC7)
    }

    @Test("another for each difference, the same for none") func differences() throws {
        let fences = try [
            Self.circle(), Self.circle("Depot"), Self.circle(latitude: 52.51630001),
            Self.circle(longitude: 13.37770001),
            Self.circle(radius: 151), Self.circle(entry: false), Self.circle(exit: false),
            Self.circle(entry: false, exit: false), Self.circle(dwell: 1),
        ]
        #expect(Set(fences.map(\.fingerprint)).count == fences.count)
        #expect(
            try Self.circle(latitude: 0, longitude: -0.0).fingerprint
                == Self.circle(latitude: -0.0, longitude: 0).fingerprint)
        // A ring that is closed, or goes the other way round, is the same polygon.
        let rings = [
            [[1.0, 2], [2, 2], [2, 3]], [[1, 2], [2, 2], [2, 3], [1, 2]], [[1, 2], [2, 3], [2, 2]],
        ]
        let polygons = try rings.map { try Geofence(id: "field", ring: $0).fingerprint }
        #expect(Set(polygons).count == 1)
    }

    @Test("the sum is that of the server's alone, in whatever order they came") func digest() throws {
        var fences = Geofences()
        let (depot, yard) = (try Self.circle(), try Self.circle("yard"))
        #expect(fences.summaryOfServers == .init(count: 0, digest: 0))
        _ = fences.add([yard], by: .server)
        _ = fences.add([depot], by: .server)
        _ = fences.add([try Self.circle("home")], by: .person)
        #expect(
            fences.summaryOfServers == .init(count: 2, digest: depot.fingerprint &+ yard.fingerprint))
        // A paused one is still there.
        fences.pausesServers = true
        _ = fences.remove(["yard"])
        #expect(fences.summaryOfServers == .init(count: 1, digest: depot.fingerprint))
    }
}
