internal import Storage

extension Store.Event {
    /// Logs it, and shows a damaged log in the status; a database that was moved aside shows itself.
    func report(_ board: Board) {
        if case .logDamaged = self { board.note(damaged: "beekon.db-wal") }
        switch self {
        case .quarantined(let name, let reason, let salvaged):
            let rest =
                name.hasSuffix(".salvaged")
                ? "and all its rows (\(salvaged)) are"
                : "and stays until you delete it, because not all of it could be read; the status is degraded until then. "
                    + "\(salvaged) of its rows are"
            Log.error(
                .databaseQuarantined,
                "the database was damaged (\(reason)): it is kept as \(name), \(rest) in a new one. Check the health of "
                    + "the disk")
        case .logDamaged(let name):
            Log.error(
                .databaseLost,
                "beekon.db-wal was damaged: what was stored last, and was in that file alone, may be lost. It is kept as "
                    + "\(name). Check the health of the disk")
        case .removed(let name):
            let what =
                name.hasSuffix("-wal") ? "a damaged WAL" : "a damaged database whose rows had all been saved"
            Log.notice(.databaseQuarantined, "deleted \(name), \(what): newer ones are kept")
        case .notOpened(let error):
            Log.warning(.storageFailed, "the database could not be opened (\(error.report)); trying again")
        case .uncarried(let destination, let count):
            Log.warning(
                .rowsDropped,
                "\(count) geofence events are not sent to \(destination): its format cannot carry them, or its geofence_events is false",
                [(.count, "\(count)")])
        case .replaced:
            Log.warning(
                .storageFailed,
                "the database was removed or replaced while it was in use; the one that is there now was opened"
            )
        }
    }
}
