internal import Base
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// What the threads share: the store, the boards, the mailboxes and the slots for settings. Data goes from the reader to the
/// store and from there to everybody else; a thread that wants something of another posts to its mailbox, by its `Outbox`.
final class Hub: Sendable {
    let store: Store
    let files: SmallFiles
    let board = Board()
    let clock: WallClock
    let battery = BatteryLookout()
    let announcements: Announcements
    let startedAt: BootInstant
    /// Which times may make rows count as old; nil until the stored state has been read.
    let ages = Mutex<AgeTrust?>(nil)
    let reader: Mailbox<ReaderCommand>
    let readerSettings: Slot<NewSettings>
    let uploaders: UploaderPorts
    let main: Mailbox<MainMessage>
    private let unheard = Atomic(0)

    private static let mainLimit = 4096

    init(
        store: Store, files: SmallFiles, clock: WallClock = WallClock(), startedAt: BootInstant = .current()
    ) throws(SystemError) {
        self.startedAt = startedAt
        self.clock = clock
        self.store = store
        self.files = files
        announcements = Announcements(files)
        reader = try Mailbox(limit: 256)
        readerSettings = Slot(waking: reader.wakeup)
        uploaders = try UploaderPorts()
        main = try Mailbox(limit: Self.mainLimit)
    }

    /// To the main thread. A full mailbox means that its thread hangs, or is busy with a reader of much history. Streamed
    /// messages are then dropped, and counted for the subscribers; nothing else is.
    func post(_ message: MainMessage) {
        switch message.whenFull {
        case .drop: if !main.post(message) { unheard.add(1, ordering: .relaxed) }
        case .keep: main.deliver(message)
        case .merge(let word):
            main.deliver(message) { waiting in
                waiting.count >= Self.mainLimit && waiting.contains { $0.whenFull == .merge(word) }
            }
        }
    }

    /// To the uploader of every destination.
    func post(toUploaders command: UploaderCommand) {
        for port in uploaders.all { port.deliver(command) }
    }

    /// Answers a command, once, for the main thread itself: in its next round, when what has changed is in force.
    func complete(_ token: Token, _ result: Result<Completion, CommandFailure>) {
        post(.completed(token, result))
    }

    /// A command or settings wait for the reader.
    var hasWorkForReader: Bool { !reader.isEmpty || !readerSettings.isEmpty }

    /// Locations and events dropped on their way to subscribers since the last call.
    func takeUnheard() -> Int {
        unheard.exchange(0, ordering: .relaxed)
    }
}

extension Hub {
    /// A new one has been made in its place.
    func reportMissingDatabase(in directory: String) {
        Log.error(
            .databaseLost,
            "\(directory)/beekon.db is gone, or empty, and this installation has had one: a new one was made. What was not "
                + "uploaded is lost, unless you stop beekond and put the old one back")
        board.note(damaged: "beekon.db")
    }
}
