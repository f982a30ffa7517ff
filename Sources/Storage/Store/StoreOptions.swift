/// How the store behaves; all of it may change while it is open.
package struct StoreOptions: Equatable, Sendable {
    /// What a power cut may take: with `full` nothing stored, with `normal` the latest commits.
    package enum Durability: String, Sendable { case full, normal }

    /// Seconds.
    package var retention: Double
    /// Locations kept at most, uploaded and pending together.
    package var maxRows: Int
    /// What the next commit promises.
    package var durability: Durability
    /// Keep acknowledged rows, marked, under the rules of retention.
    package var keepsUploaded: Bool
    /// An upload is configured: rows that are still pending are never pruned by age.
    package var isSyncing: Bool
    /// The cap is not to be trusted: as many rows as there were when the database was opened are kept whatever it is.
    package var holdsRows: Bool

    /// The defaults are those of the configuration.
    package init(
        retention: Double = 7 * 86_400, maxRows: Int = 100_000, durability: Durability = .full,
        keepsUploaded: Bool = false, isSyncing: Bool = false, holdsRows: Bool = false
    ) {
        self.retention = retention
        self.maxRows = maxRows
        self.durability = durability
        self.keepsUploaded = keepsUploaded
        self.isSyncing = isSyncing
        self.holdsRows = holdsRows
    }
}
