// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The database. While degraded, writing fails: fixes wait in memory, and last_error says why and what to
    /// do. bytes is the size of its files. Across all restarts, dropped_unsent counts rows lost to the row
    /// cap before any upload, refused fixes that arrived while storage failed and memory was full, pruned
    /// rows deleted for their age while no upload was configured, or before any upload (store.unsent_days),
    /// and expired dead letters deleted after their retention time. directory is where the database is,
    /// without symbolic links. events of all kinds; untimed_events: those of them whose time is not known
    /// yet, if any.
    package struct StoreStatus: Codable, Sendable, Equatable {
        package var degraded: Bool
        package var locations: Int
        package var events: Int?
        package var untimedEvents: Int?
        package var bytes: Int
        package var waitingInMemory: Int
        package var droppedUnsent: Int
        package var refused: Int
        package var pruned: Int?
        package var expired: Int?
        package var lastError: String?
        package var directory: String?

        package init(
            degraded: Bool, locations: Int, events: Int? = nil, untimedEvents: Int? = nil, bytes: Int,
            waitingInMemory: Int, droppedUnsent: Int, refused: Int, pruned: Int? = nil, expired: Int? = nil,
            lastError: String? = nil, directory: String? = nil
        ) {
            self.degraded = degraded
            self.locations = locations
            self.events = events
            self.untimedEvents = untimedEvents
            self.bytes = bytes
            self.waitingInMemory = waitingInMemory
            self.droppedUnsent = droppedUnsent
            self.refused = refused
            self.pruned = pruned
            self.expired = expired
            self.lastError = lastError
            self.directory = directory
        }

        private enum CodingKeys: String, CodingKey {
            case degraded
            case locations
            case events
            case untimedEvents = "untimed_events"
            case bytes
            case waitingInMemory = "waiting_in_memory"
            case droppedUnsent = "dropped_unsent"
            case refused
            case pruned
            case expired
            case lastError = "last_error"
            case directory
        }
    }
}
