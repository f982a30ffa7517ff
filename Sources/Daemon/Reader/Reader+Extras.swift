internal import Configuration
internal import Storage
internal import Upload

extension Reader {
    /// What was set before the daemon ended. Extras that cannot be read are no reason not to track.
    func resumeExtras() {
        let found = content(
            of: hub.files.readExtras(),
            otherwise: "those of the configuration apply, until beekonctl extras set")
        changedExtras = found ?? SmallFiles.Extras()
        adoptExtras()
    }

    /// The extras that go with every row from now on. Rows that are stored keep theirs.
    func adoptExtras() {
        let all = changedExtras.applied(to: settings.extras)
        extras = JSONString.object(all)
        hub.board.publish(extras: all)
    }

    /// Durable before the answer.
    func set(extras wanted: [String: String], _ token: Token) {
        let changes = SmallFiles.Extras(wanted: wanted, configured: settings.extras)
        do {
            if changes != changedExtras { try hub.files.write(changes) }
        } catch {
            let reason = "the extras could not be written: \(error)"
            return hub.complete(token, .failure(Failure(reason: reason)))
        }
        changedExtras = changes
        hub.board.note(renewed: SmallFiles.Name.extras)
        adoptExtras()
        hub.complete(token, .success(.done))
    }
}
