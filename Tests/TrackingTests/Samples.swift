import Base

@testable import Tracking

/// A fix `seconds` after a moment in 2027, `north` and `east` metres from a place in Berlin.
func fix(
    at seconds: Double, north: Double = 0, east: Double = 0, mode: Int = 3, speed: Double? = nil,
    bearing: Double? = nil, device: String = ""
) -> Fix {
    Fix(
        device: device, time: Timestamp(milliseconds: start).advanced(bySeconds: seconds), mode: mode,
        coordinate: place(north: north, east: east), speed: speed, bearing: bearing)
}

/// 2027-03-15T08:00:00Z.
let start: Int64 = 1_805_097_600_000

/// The position `north` and `east` metres from 52.5163° N, 13.3777° E, on the sphere used for distances.
func place(north: Double, east: Double = 0) -> Coordinate {
    let metersPerDegree = 6_371_008.8 * Double.pi / 180
    guard
        let place = Coordinate(
            latitude: 52.5163 + north / metersPerDegree,
            longitude: 13.3777 + east / metersPerDegree / 0.608_53)
    else { preconditionFailure("metres, not degrees") }
    return place
}
