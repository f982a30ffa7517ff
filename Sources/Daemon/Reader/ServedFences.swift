internal import Base
internal import Storage
internal import Tracking
internal import Upload

/// Which geofences a server has added, from the journal of its commands, for those that do not remember it themselves. Pure.
///
/// The text of a command is in the journal until it has been run. After that it says only when it came and when it was
/// done, and a fence knows when it was added.
struct ServedFences {
    /// Names of commands that add fences: ours, and those of Transistorsoft's guide.
    static let commands = ["add_geofences", "addGeofence", "addGeofences"]

    private var ids: Set<String> = []
    private var spans: [ClosedRange<Timestamp>] = []

    /// - Parameter journal: commands of these names that were not refused.
    init(_ journal: [CommandRecord]) {
        for record in journal {
            if case .addGeofences(let fences)? = record.text.flatMap({ ServerCommand(text: $0) })?.request {
                ids.formUnion(fences.map(\.id))
            }
            if let done = record.doneAt, record.receivedAt <= done { spans.append(record.receivedAt...done) }
        }
    }

    /// Whether one of them has added this fence.
    func added(_ item: Geofences.Item) -> Bool {
        if ids.contains(item.fence.id) { return true }
        guard let time = item.addedAt else { return false }
        return spans.contains { $0.contains(time) }
    }
}
