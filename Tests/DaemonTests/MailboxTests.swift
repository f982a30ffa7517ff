import Base
import Linux
import Storage
import Testing
import Upload

@testable import Configuration
@testable import Daemon

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
        while hub.uploader.post(.sync(0)) {}
        var settings = Settings()
        for count in 1...3 {
            settings.store.maxRows = 1000 + count
            hub.tellUploader(.configure(settings))
        }
        for batch in batches { hub.tellUploader(.abort([batch])) }
        hub.tellUploader(.trigger(.sessionStopped))
        hub.tellUploader(.trigger(.sessionStopped))
        hub.tellUploader(.storageRecovered)
        let rest = hub.uploader.takeAll().drop { if case .sync = $0 { true } else { false } }
        #expect(rest.count == 4)
        guard rest.count == 4, case .configure(let latest) = rest[rest.startIndex],
            case .abort(let aborted) = rest[rest.startIndex + 1],
            case .trigger(.sessionStopped) = rest[rest.startIndex + 2],
            case .storageRecovered = rest[rest.startIndex + 3]
        else {
            Issue.record("the commands are \(rest)")
            return
        }
        #expect(latest.store.maxRows == 1003)
        #expect(aborted == batches)
    }

    @Test("settings do not overtake tokens that were given for earlier ones")
    func order() {
        hub.tellUploader(.configure(Settings()))
        #expect(hub.uploader.post(.seed(Tokens(), 1)))
        hub.tellUploader(.configure(Settings()))
        #expect(hub.uploader.takeAll().count == 3)
    }

    @Test("the main thread gets every answer and every change; what streams past is lost and counted")
    func main() throws {
        let location = try workshop.location(0).location
        var posted = 0
        while hub.main.post(.location(location)) { posted += 1 }
        for _ in 0..<5 { hub.tell(.location(location)) }
        hub.tell(.sourceChanged)
        hub.tell(.settingsTaken(.success(())))
        hub.tell(.sourceChanged)
        hub.tell(.stopped(7, .success(())))
        hub.tell(.readerEnded)
        let rest = hub.main.takeAll().dropFirst(posted)
        #expect(rest.count == 4)
        #expect(hub.takeUnheard() == 5)
        #expect(hub.takeUnheard() == 0)
    }

    @Test("the reader takes up settings, however many commands wait")
    func reader() {
        while hub.reader.post(.forget(0)) {}
        hub.reader.deliver(.configure(Settings(), nil))
        guard case .configure = hub.reader.takeAll().last else {
            Issue.record("the settings are lost")
            return
        }
    }
}
