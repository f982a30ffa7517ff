package import Base
package import Tracking

/// How the store behaves; all of it may change while it is open.
package struct StoreOptions: Equatable, Sendable {
    /// What a power cut may take: with `full` nothing stored, with `normal` the latest commits.
    package enum Durability: String, Sendable { case full, normal }

    /// A place that every row is delivered to.
    package struct Destination: Equatable, Sendable {
        package var name: DestinationName
        /// The destination is to have events, of geofences or of the vehicle.
        package var carriesEvents: Bool
        /// Entries into geofences and exits from them are among those.
        package var carriesCrossings: Bool
        /// Events of the vehicle are among those.
        package var carriesVehicleEvents: Bool
        /// The destination could have entries and exits, and is to have none, nor anything else of that kind:
        /// what is still to be sent are exits from fences that it has been told of entering.
        var endsEntries: Bool

        /// - Parameter carriesEvents: its format carries events of geofences at least.
        package init(
            _ name: DestinationName, carriesEvents: Bool = true, carriesCrossings: Bool = true,
            carriesVehicleEvents: Bool = true
        ) {
            self.name = name
            self.carriesEvents = carriesEvents && (carriesCrossings || carriesVehicleEvents)
            self.carriesCrossings = carriesEvents && carriesCrossings
            self.carriesVehicleEvents = carriesEvents && carriesVehicleEvents
            endsEntries = carriesEvents && !self.carriesEvents
        }
    }

    /// Seconds.
    package var retention: Double
    /// Locations kept at most, uploaded and pending together.
    package var maxRows: Int
    /// What the next commit promises.
    package var durability: Durability
    /// Keep acknowledged rows, marked, under the rules of retention.
    package var keepsUploaded: Bool
    /// Destinations that are to get every row. While there is one, `retention` does not count for rows that
    /// are still pending.
    package var destinations: [Destination]
    /// Seconds after which rows go although somebody still has to receive them; nil: never.
    package var unsentRetention: Double?
    /// The cap is not to be trusted: as many rows as there were when the database was opened are kept whatever it is, and
    /// `unsentRetention` does not count.
    package var holdsRows: Bool
    /// What of the vehicle is uploaded when it happens, where a format carries it. All else is kept for the retention time,
    /// and nobody is owed it.
    package var uploadedEvents: Set<VehicleEvent.Kind>

    /// The defaults are those of the configuration.
    package init(
        retention: Double = 7 * 86_400, maxRows: Int = 100_000, durability: Durability = .full,
        keepsUploaded: Bool = false, destinations: [Destination] = [], unsentRetention: Double? = nil,
        holdsRows: Bool = false, uploadedEvents: Set<VehicleEvent.Kind> = []
    ) {
        self.retention = retention
        self.maxRows = maxRows
        self.durability = durability
        self.keepsUploaded = keepsUploaded
        self.destinations = destinations
        self.unsentRetention = unsentRetention
        self.holdsRows = holdsRows
        self.uploadedEvents = uploadedEvents
    }
    /// Something is to be uploaded.
    var isSyncing: Bool { !destinations.isEmpty }
}

extension [StoreOptions.Destination] {
    /// `main` alone.
    package static let main = [StoreOptions.Destination(.main)]
}
