import Base
import Testing

@testable import GPSD
@testable import Tracking

/// A TPV line with these fields in addition to device and time.
private func line(_ fields: String) -> String {
    #"{"class":"TPV","device":"/dev/gps0","time":"2027-03-15T08:00:00.000Z",\#(fields)}"#
}

private typealias FixValue = any KeyPath<Fix, Double?> & Sendable

private func fix(_ fields: String) throws -> Fix? {
    guard case .tpv(let tpv) = try parse(line(fields)) else { return nil }
    return tpv.fix
}

@Test("a full report becomes a fix with every value")
func fullFix() throws {
    let fields =
        #""status":1,"mode":3,"lat":52.5,"lon":-13.25,"altHAE":80.5,"altMSL":36.1,"alt":36.1,"eph":4.2,"epx":1,"#
        + #""epy":1,"track":359.9,"speed":12.5,"climb":0.1"#
    let expected = Fix(
        device: "/dev/gps0", time: time(0), mode: 3,
        coordinate: try #require(Coordinate(latitude: 52.5, longitude: -13.25)), accuracy: 4.2, speed: 12.5,
        bearing: 359.9, altitude: 80.5)
    #expect(try fix(fields) == expected)
}

@Test("a report with only a position has no other values, not even those of the previous report")
func emptyFix() throws {
    var parser = try makeParser()
    _ = parser.parse(tpvLine(0, fields: #""speed":5.0,"track":7.0,"eph":3.0,"altHAE":9.0,"status":8"#))
    guard case .tpv(let tpv) = parser.parse(tpvLine(1)) else {
        Issue.record("no TPV")
        return
    }
    #expect(
        tpv == TPV(device: "/dev/gps0", mode: 3, time: time(1), latitude: 52.5, longitude: 13.25))
}

@Test(
    "reports that are no fix",
    arguments: [
        #""mode":1,"lat":52.5,"lon":13.25"#, #""mode":0,"lat":52.5,"lon":13.25"#, #""mode":3,"lat":52.5"#,
        #""mode":3,"lon":13.25"#, #""mode":3,"lat":90.1,"lon":13.25"#, #""mode":3,"lat":52.5,"lon":180.5"#,
        #""mode":3,"lat":-1e300,"lon":13.25"#, #""mode":3,"lat":nan,"lon":13.25"#, #""lat":52.5,"lon":13.25"#,
    ])
func noFix(fields: String) throws {
    #expect(try fix(fields) == nil)
}

@Test("a report without a time, or with an impossible one, is not a fix")
func noFixTime() throws {
    let place = #""mode":3,"lat":52.5,"lon":13.25"#
    for time in ["", #""time":"","#, #""time":"1969-12-31T23:59:59.000Z","#] {
        if case .tpv(let tpv) = try parse(#"{"class":"TPV","device":"/dev/gps0",\#(time)\#(place)}"#) {
            #expect(tpv.fix == nil)
        }
    }
}

@Test(
    "values that cannot mean anything are absent",
    arguments: [
        (#""track":360.0"#, \Fix.bearing, nil), (#""track":-0.1"#, \.bearing, nil),
        (#""track":0.0"#, \.bearing, 0),
        (#""track":359.99"#, \.bearing, 359.99), (#""speed":-0.1"#, \.speed, nil),
        (#""speed":0.0"#, \.speed, 0),
        (#""speed":1e400"#, \.speed, nil), (#""speed":340.0"#, \.speed, 340),
        (#""eph":0.0"#, \.accuracy, 0), (#""eph":-1.0"#, \.accuracy, nil), (#""eph":7.5"#, \.accuracy, 7.5),
        (#""epx":3.0,"epy":4.0"#, \.accuracy, 5), (#""epx":3.0"#, \.accuracy, nil),
        (#""epy":3.0"#, \.accuracy, nil),
        (#""eph":9.0,"epx":3.0,"epy":4.0"#, \.accuracy, 9), (#""epx":1e300,"epy":1e300"#, \.accuracy, nil),
        (#""altHAE":-40.5"#, \.altitude, -40.5), (#""altMSL":36.0,"alt":36.0"#, \.altitude, nil),
    ] as [(String, FixValue, Double?)])
private func normalisation(field: String, value: FixValue, expected: Double?) throws {
    let found = try #require(try fix(#""mode":3,"lat":52.5,"lon":13.25,"# + field))
    #expect(found[keyPath: value] == expected)
}

@Test("an altitude counts only with mode 3")
func altitudeNeedsMode3() throws {
    let place = #","lat":52.5,"lon":13.25,"altHAE":80.5"#
    #expect(try fix(#""mode":2"# + place)?.altitude == nil)
    #expect(try fix(#""mode":3"# + place)?.altitude == 80.5)
}

@Test("a simulated fix is marked", arguments: [(0, false), (1, false), (2, false), (8, true), (9, false)])
func simulated(status: Int, isMock: Bool) throws {
    #expect(try fix(#""mode":3,"lat":52.5,"lon":13.25,"status":\#(status)"#)?.isMock == isMock)
}
