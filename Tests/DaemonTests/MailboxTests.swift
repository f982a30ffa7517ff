import Base
import Linux
import Storage
import Testing
import Upload

@testable import Daemon
@testable import DaemonConfiguration

/// What becomes of messages to a thread that does not take them.
@Suite("full mailboxes")
struct MailboxTests {
    private let workshop: Workshop
    private var hub: Hub { workshop.hub }

    init() throws {
        workshop = try Workshop()
    }

    @Test("the uploader hears of settings and of deleted batches, however many commands wait")
    func uploader() throws {
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let batches = (0..<3).map { _ in ids.next(at: start) }
        while hub.uploaders.main.commands.post(.sync(0)) {}
        var settings = Settings()
        for count in 1...3 {
            settings.store.maxRows = 1000 + count
            hub.uploaders.main.settings.put(SettingsInForce(revision: count, settings: settings))
        }
        for batch in batches { hub.post(toUploaders: .abort([batch])) }
        hub.post(toUploaders: .trigger(.sessionStopped))
        hub.post(toUploaders: .trigger(.sessionStopped))
        hub.post(toUploaders: .storageRecovered)
        let rest = hub.uploaders.main.commands.takeAll().drop { if case .sync = $0 { true } else { false } }
        #expect(rest.count == 3)
        guard rest.count == 3, case .abort(let aborted) = rest[rest.startIndex],
            case .trigger(.sessionStopped) = rest[rest.startIndex + 1],
            case .storageRecovered = rest[rest.startIndex + 2]
        else {
            Issue.record("the commands are \(rest)")
            return
        }
        #expect(hub.uploaders.main.settings.take()?.settings.store.maxRows == 1003)
        #expect(hub.uploaders.main.settings.take() == nil)
        #expect(aborted == batches)
    }

    @Test("the main thread gets every answer and every change; what streams past is lost and counted")
    func main() throws {
        let location = try workshop.location(0).location
        var posted = 0
        while hub.main.post(.location(location)) { posted += 1 }
        for _ in 0..<5 { hub.post(.location(location)) }
        hub.post(.sourceChanged)
        hub.post(.settingsApplied(.success(())))
        hub.post(.sourceChanged)
        hub.complete(7, .success(.done))
        hub.post(.readerEnded)
        let rest = hub.main.takeAll().dropFirst(posted)
        #expect(rest.count == 4)
        #expect(hub.takeUnheard() == 5)
        #expect(hub.takeUnheard() == 0)
    }

    @Test("the reader takes up settings, however many commands wait")
    func reader() {
        while hub.reader.post(.forget(0)) {}
        hub.reader.wakeup.clear()
        hub.readerSettings.put(NewSettings(settings: Settings()))
        var poll = Rest()
        poll.add(hub.reader.wakeup.descriptor)
        poll.wait(seconds: 30)
        #expect(poll.isReadable(0) && hub.hasWorkForReader)
        #expect(hub.readerSettings.take() != nil)
    }
}
