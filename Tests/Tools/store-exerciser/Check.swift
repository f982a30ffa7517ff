import SQLite
import Storage
import Tracking

/// Opens what is left with the real code and says what it holds.
struct Check {
    private let directory: String

    init(_ directory: String) {
        self.directory = directory
    }

    func run() {
        do {
            let store = try Store(directory: directory, options: StoreOptions(destinations: .main))
            for event in store.takeEvents() { say("event \(event)") }
            let db = try Connection(path: directory + "/beekon.db", access: .readOnly)
            say("integrity " + (try db.value("PRAGMA integrity_check") ?? "no answer"))
            let history = try History(directory: directory)
            var cursor = LocationCursor(from: nil, to: nil)
            while !cursor.isAtEnd {
                for location in try history.next(&cursor) { say("location \(location.id)") }
            }
            if let batch = try store.nextFrozen() { say("batch \(batch.locations)") }
        } catch {
            fail("\(error)")
        }
    }
}
