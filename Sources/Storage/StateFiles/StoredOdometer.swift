internal import Base
package import Tracking

/// The odometer, which must survive the loss of the database.
package struct StoredOdometer: SmallFileContent {
    private var metres: Double
    /// How often the odometer has been set.
    private var settings: Int
    /// The last position counted, with its fix time in Unix milliseconds; absent where the next does not continue it.
    private var latitude: Double?
    private var longitude: Double?
    private var time: Int64?

    /// Times that it can have been set: once a second for a century.
    private static let mostSettings = 3_200_000_000

    /// What is written of it.
    package init(_ odometer: Odometer.Memory) {
        metres = odometer.metres
        settings = odometer.settings
        latitude = odometer.place?.coordinate.latitude
        longitude = odometer.place?.coordinate.longitude
        time = odometer.place?.time.milliseconds
    }

    /// The odometer as last written.
    package var value: Odometer.Memory {
        var place: Odometer.Place?
        if let latitude, let longitude, let time,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        {
            place = Odometer.Place(time: Timestamp(milliseconds: time), coordinate: coordinate)
        }
        return Odometer.Memory(metres: metres, settings: settings, place: place)
    }

    package static var fileName: String { SmallFiles.Name.odometer }

    package var isSound: Bool {
        (0...Odometer.longest).contains(metres) && (0...Self.mostSettings).contains(settings)
            && time.map(Timestamp.isDate) ?? true
    }
}
