import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("databases that were put aside")
struct SalvageTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("those of which nothing could be read are all kept")
    func unreadable() throws {
        let garbage = Array("no database".utf8)
        for _ in 0..<4 {
            try directory.write("beekon.db", garbage)
            let store = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
            store.close()
        }
        let kept = try directory.names().filter { $0.contains(".corrupt-") }
        #expect(kept.count { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } == 4)
        #expect(!kept.contains { $0.hasSuffix(".salvaged") })
    }

    @Test("dead letters come back as pending rows; of the spent files, the oldest is deleted and told")
    func deadLetters() throws {
        var workshop = try Workshop(in: directory)
        let ids = try workshop.insert(1...4)
        _ = try workshop.store.reject(try workshop.freeze(), status: 422, at: time(9))
        var removed = 0
        for _ in 0..<4 {
            workshop.store.close()
            try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
                "CREATE TABLE alien (a)")
            workshop = try Workshop(in: directory)
            let events = workshop.store.takeEvents()
            guard case .quarantined(let name, _, let salvaged) = events.first else {
                Issue.record("nothing was put aside")
                return
            }
            #expect(name.hasSuffix(".salvaged"))
            #expect(salvaged == 4)
            removed += events.count - 1
            #expect(try workshop.stored().map(\.id) == ids)
            #expect(workshop.store.counts().pending == 4)
        }
        #expect(removed == 2)
    }
}
