internal import SQLite

/// The tables of the write connection, each with the SQL that reads and writes it. What changes one is part of a
/// transaction of the writer's, which also knows what concerns several of them.
struct Tables: ~Copyable {
    let locations: Locations
    let events: Events
    let deadLetters: DeadLetters
    let batches: Batches
    let debts: Debts
    let sessions: Sessions
    let extras: Extras
    let counters: Counters
    let geofenceStates: GeofenceStates
    let commands: Commands
}

extension Tables {
    init(_ db: Connection) throws(SQLiteError) {
        self.init(
            locations: try Locations(db),
            events: Events(db),
            deadLetters: DeadLetters(db),
            batches: try Batches(db),
            debts: Debts(db),
            sessions: try Sessions(db),
            extras: Extras(db),
            counters: try Counters(db),
            geofenceStates: GeofenceStates(db),
            commands: Commands(db))
    }
}
