internal import Base
internal import Linux

/// What a turn of a thread has to say to the others: answers, events, and triggers that make them look at the board. It is collected
/// while the turn lasts, and sent by the thread's loop once the board shows what it is about. So nobody is answered before.
///
/// Confined to its thread. Empty nearly always.
final class Outbox {
    private enum Letter {
        case main(MainMessage)
        case uploader(UploaderPort, UploaderCommand)
        case uploaders(UploaderCommand)
        case newLocation(UploaderPort)
        case reader
    }

    /// Number of messages up to which the memory is kept for the next turn.
    private static let usual = 64

    private let hub: Hub
    private var letters: [Letter] = []

    init(hub: Hub) {
        self.hub = hub
    }

    /// To the main thread.
    func post(_ message: MainMessage) {
        letters.append(.main(message))
    }

    /// Answers a command, once.
    func complete(_ token: Token, _ result: Result<Completion, CommandFailure>) {
        post(.completed(token, result))
    }

    /// To one uploader.
    func deliver(_ command: UploaderCommand, to port: UploaderPort) {
        letters.append(.uploader(port, command))
    }

    /// To the uploader of every destination.
    func deliver(toUploaders command: UploaderCommand) {
        letters.append(.uploaders(command))
    }

    /// A location has been stored: wakes an uploader that waits for one.
    func noteNewLocation(to port: UploaderPort) {
        letters.append(.newLocation(port))
    }

    /// Wakes the reader, which reports what has happened to the database.
    func wakeReader() {
        letters.append(.reader)
    }

    /// Sends all of it, in order. What it is about is on the board.
    func send() {
        guard !letters.isEmpty else { return }
        for letter in letters {
            switch letter {
            case .main(let message): hub.post(message)
            case .uploader(let port, let command): port.deliver(command)
            case .uploaders(let command): hub.post(toUploaders: command)
            case .newLocation(let port): port.noteNewLocation()
            case .reader: hub.reader.wakeup.signal()
            }
        }
        letters.removeAll(keepingCapacity: letters.count <= Self.usual)
    }
}
