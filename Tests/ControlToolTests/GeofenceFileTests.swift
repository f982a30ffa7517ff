import ControlProtocol
import Testing

@testable import ControlTool

@Suite("files of geofences")
struct GeofenceFileTests {
    private func read(_ text: String) throws -> [Wire.Geofence] {
        try GeofenceFile.read(Array(text.utf8), name: "f")
    }

    @Test("GeoJSON points with a radius")
    func geoJSON() throws {
        let fences = try read(
            """
            {"type":"FeatureCollection","features":[
              {"type":"Feature","geometry":{"type":"Point","coordinates":[13.5,52,34]},
               "properties":{"id":"depot","radius":150}},
              {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[-0.5,-1.25]},
               "properties":{"radius_meters":80.5,"notify_on_exit":false}},
              {"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},
               "properties":{"name":"null island","radius":1,"marker-color":"#f00"}}]}
            """)
        #expect(
            fences == [
                .init(id: "depot", latitude: 52, longitude: 13.5, radiusMeters: 150),
                .init(id: "7", latitude: -1.25, longitude: -0.5, radiusMeters: 80.5, notifyOnExit: false),
                .init(id: "null island", latitude: 0, longitude: 0, radiusMeters: 1),
            ])
    }

    @Test("GeoJSON polygons; heights and the repeated corner do not matter")
    func polygons() throws {
        let fences = try read(
            """
            {"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,2,3],[2,2],[2,3],[1,2]]]},
             "properties":{"id":"yard","notify_on_entry":false}}
            """)
        let ring = [[1.0, 2], [2, 2], [2, 3], [1, 2]]
        #expect(fences == [.init(id: "yard", polygon: ring, notifyOnEntry: false)])
    }

    @Test("what is listed as GeoJSON is read back the same")
    func exported() throws {
        let fences: [Wire.Geofence] = [
            .init(
                id: "a\"<", latitude: 1.25, longitude: -2.5, radiusMeters: 3, notifyOnEntry: true,
                notifyOnExit: false, inside: true),
            .init(
                id: "b", latitude: 1, longitude: 2, radiusMeters: 5,
                polygon: [[0.1, 0], [1, 0], [0, 1.5]],
                notifyOnEntry: true, notifyOnExit: true),
        ]
        let found = try read(GeofenceGeoJSON.lines(fences).joined())
        #expect(found.map(\.id) == ["a\"<", "b"] && found.map(\.notifyOnExit) == [false, true])
        #expect([found[0].latitude, found[0].longitude, found[0].radiusMeters] == [1.25, -2.5, 3])
        #expect(found[1].polygon == [[0.1, 0], [1, 0], [0, 1.5], [0.1, 0]])
    }

    @Test("a list as printed by the tool")
    func list() throws {
        let fence = Wire.Geofence(
            id: "a", latitude: 1, longitude: 2.5, radiusMeters: 3, notifyOnEntry: true, notifyOnExit: false)
        var listed = fence
        listed.inside = true
        let printed = try JSONLine.encode(Wire.ListGeofences.Result(geofences: [listed]))
        #expect(try read(printed) == [fence])
        #expect(try read("[\(try JSONLine.encode(listed))]") == [fence])
        #expect(try read(try JSONLine.encode(fence)) == [fence])
        #expect(try read("[]") == [])
    }

    @Test(
        "what cannot be a geofence is named, with the reason",
        arguments: [
            ("{", "not JSON"), ("5", "neither"), (#"{"a":1}"#, "neither"), ("[5]", "geofence 1"),
            (#"[{"id":"a","latitude":1,"longitude":2}]"#, "radius"),
            (#"[{"latitude":1,"longitude":2,"radius":3}]"#, "no id"),
            (#"[{"id":"a","latitude":"1","longitude":2,"radius":3}]"#, "numbers"),
            (
                #"[{"id":"a","latitude":1,"longitude":2,"radius":3,"notify_on_entri":true}]"#,
                "notify_on_entri"
            ),
            (#"[{"id":"a","latitude":1,"longitude":2,"radius":3,"notify_on_exit":1}]"#, "true or false"),
            (
                #"[{"type":"Feature","geometry":{"type":"LineString","coordinates":[]},"properties":{"id":"a"}}]"#,
                "LineString"
            ),
            (
                #"[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[]},"properties":{"id":"a"}}]"#,
                "rings"
            ),
            (
                #"[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[],[]]},"properties":{"id":"a"}}]"#,
                "holes"
            ),
            (
                #"[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,2],[1]]]},"properties":{"id":1}}]"#,
                "corner 2"
            ),
            (
                #"[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[]]},"properties":{}}]"#,
                "no id"
            ),
            (#"[{"id":"a","polygon":[[1,2],5]}]"#, "corner 2"),
            (
                #"[{"type":"Feature","geometry":{"type":"Point","coordinates":[1]},"properties":{}}]"#,
                "coordinates"
            ),
            (#"[{"type":"Feature","geometry":null,"properties":{}}]"#, "geometry"),
        ])
    func wrong(text: String, reason: String) throws {
        #expect {
            _ = try read(text)
        } throws: {
            ($0 as? Failure)?.message.contains(reason) ?? false
        }
    }

    @Test("tables of fences and events are safe for a terminal")
    func tables() {
        let lines = GeofenceText.table([
            .init(id: "ho\u{1B}me", latitude: -33.5, longitude: 151.25, radiusMeters: 80, inside: true),
            .init(
                id: "b", latitude: 1, longitude: -2, radiusMeters: 0.5, notifyOnEntry: false,
                notifyOnExit: false),
            .init(
                id: "c", latitude: 1, longitude: 2, radiusMeters: 500, polygon: [[0, 0], [1, 0], [0, 1]],
                inside: false),
        ])
        #expect(
            lines == [
                "  LATITUDE   LONGITUDE  RADIUS m CORNERS STATE     NOTIFIES   ID",
                "-33.500000  151.250000        80  circle inside    enter,exit ho\\u{1b}me",
                "  1.000000   -2.000000       0.5  circle undecided nothing    b",
                "  1.000000    2.000000       500       3 outside   enter,exit c",
            ])
        let event = Wire.GeofenceEvent(
            id: "i", sessionId: "s", geofenceId: "a\u{202E}b", type: "enter",
            timestamp: "2026-06-15T12:34:05.000Z")
        #expect(GeofenceText.event(event, clock: ScreenSamples.clock).hasSuffix("enter a\\u{202e}b"))
    }
}
