internal import Base
internal import Linux
internal import Synchronization

/// The mailbox of one destination's uploader, and what it publishes.
final class UploaderPort: Sendable {
    let name: DestinationName
    let commands: Mailbox<UploaderCommand>
    let settings: Slot<SettingsInForce>
    let work = Work()
    /// The uploader sleeps until a location is stored.
    let awaitsLocation = Atomic(false)
    let requests = RequestCounts()
    /// The log, if the server of the destination has asked for it.
    let log = LogUpload()
    private let published = Mutex(UploaderSnapshot())

    private static let commandLimit = 1024

    init(_ name: DestinationName) throws(SystemError) {
        self.name = name
        commands = try Mailbox(limit: Self.commandLimit)
        settings = Slot(waking: commands.wakeup)
    }

    /// Somebody wants something of the uploader.
    var hasWork: Bool { !commands.isEmpty || !settings.isEmpty }

    /// How the uploader is doing, as it last published it.
    var snapshot: UploaderSnapshot { published.withLock { $0 } }

    func publish(_ snapshot: UploaderSnapshot) {
        published.withLock { $0 = snapshot }
    }

    /// A location has been stored, and published on the board.
    func noteNewLocation() {
        if awaitsLocation.exchange(false, ordering: .sequentiallyConsistent) { commands.wakeup.signal() }
    }

    /// For messages between threads. Commands of clients are posted to the mailbox itself, and refused when there are too
    /// many.
    func deliver(_ command: UploaderCommand) {
        commands.deliver(command) { command.merge(into: &$0) }
    }
}

/// The ports of all uploaders: that of `main`, which there always is, and one for each other destination that is configured.
final class UploaderPorts: Sendable {
    let main: UploaderPort
    /// Tokens of `main`, for the destinations that share them.
    let tokens: SharedTokens
    private let others = Mutex<[DestinationName: UploaderPort]>([:])

    init() throws(SystemError) {
        main = try UploaderPort(.main)
        tokens = SharedTokens(waking: main.commands.wakeup)
    }

    /// `main` first, the others by name.
    var all: [UploaderPort] {
        [main] + others.withLock { $0.values.sorted { $0.name < $1.name } }
    }

    subscript(_ name: DestinationName) -> UploaderPort? {
        name == .main ? main : others.withLock { $0[name] }
    }

    func add(_ port: UploaderPort) {
        others.withLock { $0[port.name] = port }
    }

    func remove(_ name: DestinationName) {
        others.withLock { $0[name] = nil }
    }
}
