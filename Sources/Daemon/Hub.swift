internal import Linux
internal import Storage

/// What the threads share: the store, the boards and the mailboxes. Data goes from the reader to the store and from there to
/// everybody else; whoever wants something of another thread leaves a note in its mailbox.
final class Hub: Sendable {
    let store: Store
    let files: SmallFiles
    let board = Board()
    let clock = WallClock()
    let reader: Mailbox<ReaderCommand>
    let uploader: Mailbox<UploaderCommand>
    let main: Mailbox<MainMessage>

    init(store: Store, files: SmallFiles) throws(SystemError) {
        self.store = store
        self.files = files
        reader = try Mailbox(limit: 256)
        uploader = try Mailbox(limit: 1024)
        main = try Mailbox(limit: 4096)
    }

    /// A full mailbox means that the thread behind it hangs; the watchdog deals with that.
    func tell(_ message: MainMessage) {
        _ = main.post(message)
    }

    func tellUploader(_ command: UploaderCommand) {
        _ = uploader.post(command)
    }
}
