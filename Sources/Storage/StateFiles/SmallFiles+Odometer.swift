internal import Base
package import Linux
package import Tracking

/// The odometer, which must survive the loss of the database.
extension SmallFiles {
    private struct OdometerFile: Codable {
        var metres: Double
        /// How often the odometer has been set.
        var settings: Int
        /// The last position counted, with its fix time in Unix milliseconds; absent where the next does not continue it.
        var latitude: Double?
        var longitude: Double?
        var time: Int64?
    }

    /// Times that it can have been set: once a second for a century.
    private static let mostSettings = 3_200_000_000

    /// The odometer as last written.
    package func readOdometer() -> Reading<Odometer.Memory> {
        let found = read(Name.odometer) { (found: OdometerFile) in
            (0...Odometer.longest).contains(found.metres) && (0...Self.mostSettings).contains(found.settings)
                && found.time.map(Self.years.contains) ?? true
        }
        return Reading(content: found.content.map(Self.memory), trouble: found.trouble)
    }

    private static func memory(_ found: OdometerFile) -> Odometer.Memory {
        var place: Odometer.Place?
        if let latitude = found.latitude, let longitude = found.longitude, let time = found.time,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        {
            place = Odometer.Place(time: Timestamp(milliseconds: time), coordinate: coordinate)
        }
        return Odometer.Memory(metres: found.metres, settings: found.settings, place: place)
    }

    /// Another machine has driven that far. The directory has yet to be synchronised.
    package func removeOdometer() throws(SystemError) {
        for name in [Name.odometer, Self.copy(of: Name.odometer)] { try directory.remove(name) }
    }

    /// Durable when it returns.
    package func write(_ odometer: Odometer.Memory) throws(SystemError) {
        try write(
            Name.odometer,
            OdometerFile(
                metres: odometer.metres, settings: odometer.settings,
                latitude: odometer.place?.coordinate.latitude,
                longitude: odometer.place?.coordinate.longitude,
                time: odometer.place?.time.milliseconds))
    }
}
