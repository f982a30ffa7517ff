internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Upload

/// The extras that go with every row: those of the configuration, as changed by SetExtras.
///
/// Confined to the reader's thread.
final class ExtrasKeeper {
    private let hub: Hub
    private var changes = ExtrasChanges()
    /// The extras in force, a JSON object; nil when there are none. Stored rows keep theirs.
    private(set) var json: String?
    /// The extras in force by name, for clients that ask.
    private(set) var all: [String: String] = [:]

    init(hub: Hub) {
        self.hub = hub
    }

    /// Takes up what was set before the daemon ended. Extras that cannot be read are no reason not to track.
    func resume(configured: [String: String]) {
        let found = hub.content(
            of: hub.files.read(ExtrasChanges.self),
            otherwise: "those of the configuration apply, until beekonctl extras set")
        changes = found ?? ExtrasChanges()
        apply(to: configured)
    }

    /// Puts the changes on top of what is configured now.
    func apply(to configured: [String: String]) {
        all = changes.applied(to: configured)
        json = JSONString.object(all)
    }

    /// Durable when it returns.
    func set(_ wanted: [String: String], configured: [String: String]) throws(CommandFailure) {
        let new = ExtrasChanges(wanted: wanted, configured: configured)
        do {
            if new != changes { try hub.files.write(new) }
        } catch {
            throw CommandFailure(reason: "the extras could not be written: \(error)")
        }
        changes = new
        hub.board.note(renewed: SmallFiles.Name.extras)
        apply(to: configured)
    }
}
