// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One destination: main, which is [sync], or a table [destination.NAME]. deliver is all or latest.
    /// orphaned: it is not configured any more, and its pending rows wait until it is again, or is forgotten.
    /// format and deliver are then absent. With deliver latest nothing is queued: sync.pending is left from
    /// deliver all, and it is orphaned while that waits. dropped and pruned count rows that were pending for
    /// it, as in StoreStatus, while there are other destinations, too. adopted_revision is the number of the
    /// change of settings (revision of Status) that its uploads go by; absent while there are none.
    package struct Destination: Codable, Sendable, Equatable {
        package var name: String
        package var format: String?
        package var deliver: String?
        package var orphaned: Bool
        package var dropped: Int
        package var pruned: Int?
        package var sync: SyncStatus
        package var auth: AuthStatus
        package var adoptedRevision: Int?

        package init(
            name: String, format: String? = nil, deliver: String? = nil, orphaned: Bool, dropped: Int,
            pruned: Int? = nil, sync: SyncStatus, auth: AuthStatus, adoptedRevision: Int? = nil
        ) {
            self.name = name
            self.format = format
            self.deliver = deliver
            self.orphaned = orphaned
            self.dropped = dropped
            self.pruned = pruned
            self.sync = sync
            self.auth = auth
            self.adoptedRevision = adoptedRevision
        }

        private enum CodingKeys: String, CodingKey {
            case name
            case format
            case deliver
            case orphaned
            case dropped
            case pruned
            case sync
            case auth
            case adoptedRevision = "adopted_revision"
        }
    }
}
