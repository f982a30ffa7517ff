internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// What the threads share: the store, the boards and the mailboxes. Data goes from the reader to the store and from there to
/// everybody else; whoever wants something of another thread leaves a note in its mailbox.
final class Hub: Sendable {
    let store: Store
    let files: SmallFiles
    let board = Board()
    let clock = WallClock()
    /// Which times may make rows count as old; nil until the stored state has been read.
    let ages = Mutex<AgeTrust?>(nil)
    let reader: Mailbox<ReaderCommand>
    let uploader: Mailbox<UploaderCommand>
    let main: Mailbox<MainMessage>
    private let mainLimit = 4096
    private let unheard = Atomic(0)

    init(store: Store, files: SmallFiles) throws(SystemError) {
        self.store = store
        self.files = files
        reader = try Mailbox(limit: 256)
        uploader = try Mailbox(limit: 1024)
        main = try Mailbox(limit: mainLimit)
    }

    /// A full mailbox means that its thread hangs, or is busy with a reader of much history. Streamed messages are
    /// then dropped, and counted for the subscribers; nothing else is.
    func tell(_ message: MainMessage) {
        switch message.whenFull {
        case .drop: if !main.post(message) { unheard.add(1, ordering: .relaxed) }
        case .keep: main.deliver(message)
        case .merge(let word):
            main.deliver(message) { [mainLimit] waiting in
                waiting.count >= mainLimit && waiting.contains { $0.whenFull == .merge(word) }
            }
        }
    }

    /// For messages between threads. Commands of clients are posted, and refused when there are too many.
    func tellUploader(_ command: UploaderCommand) {
        uploader.deliver(command) { command.merge(into: &$0) }
    }

    /// Locations and events dropped on their way to subscribers since the last call.
    func takeUnheard() -> Int {
        unheard.exchange(0, ordering: .relaxed)
    }
}

extension Hub {
    /// A new one has been made in its place.
    func tellOfMissingDatabase(in directory: String) {
        Log.error(
            .databaseLost,
            "\(directory)/beekon.db is gone, or empty, and this installation has had one: a new one was made. What was not "
                + "uploaded is lost, unless you stop beekond and put the old one back")
        board.note(damaged: "beekon.db")
    }
}
