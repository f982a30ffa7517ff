import Base
import Linux
import Support
import Testing

@testable import Storage
@testable import Tracking

/// Bytes for each fix, stored and drained in batches of so many: blocks of the WAL that are written and synced.
private func bytes(_ names: [DestinationName], batch: Int) throws -> Double {
    let directory = try TemporaryDirectory(inMemory: true)
    let options = StoreOptions(durability: .normal, destinations: names.map { StoreOptions.Destination($0) })
    let store = try Store(directory: directory.path, options: options, checkpointPages: 1_000_000)
    let log = directory.file("beekon.db-wal")
    var (number, end, blocks) = (0, (try? SystemFiles().size(log)) ?? 0, 0)
    func count() {
        let size = (try? SystemFiles().size(log)) ?? 0
        if size > end { blocks += Int((size - 1) / 4096 - end / 4096 + 1) }
        end = size
    }
    for _ in 0..<400 / batch {
        for _ in 0..<batch {
            number += 1
            _ = try store.insert(
                NewLocation(
                    location: location(Double(number), id: uuid(number)), session: uuid(1),
                    sessionStartedAt: time(0), odometer: Double(number), extras: nil, prunesByAge: true))
            count()
        }
        for name in names {
            let draft = try #require(try store.draftBatch(for: name, limit: batch))
            // About as long as a compressed batch.
            let body = [UInt8](repeating: 7, count: 60 * batch)
            let frozen = try #require(
                try store.freeze(draft, id: uuid(1_000_000 + number), StoredRequest(body: body)))
            count()
            _ = try store.acknowledge(frozen)
            count()
        }
    }
    #expect(store.counts().locations == 0)
    return Double(blocks) * 4096 / Double(number)
}

@Test("a second destination adds at most a quarter to what is written", arguments: [10, 100])
func costOfDestinations(batch: Int) throws {
    let one = try bytes([.main], batch: batch)
    let two = try bytes([.main, .fleet], batch: batch)
    print("bytes written per fix, batches of \(batch): \(one) with one destination, \(two) with two")
    #expect(two < one * 1.25)
}

@Test("with main alone nothing is written down of debts")
func mainAlone() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...20)
    _ = try workshop.reject(.main, limit: 3)
    _ = try workshop.drain(.main)
    #expect(try workshop.count("debts") == 0 && workshop.count("destinations") == 0)
}
