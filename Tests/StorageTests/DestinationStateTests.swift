import Base
import SQLite
import Support
import Testing

@testable import Storage

/// A salvage must know everything that is kept of a destination: what is added without a word for it fails here.
@Suite("everything that is kept of a destination")
struct DestinationStateTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(StoreOptions(destinations: .named(.main, .fleet)))
    }

    private func salvage() throws {
        workshop.store.close()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            "CREATE TABLE alien (a)")
        try workshop.reopen()
        #expect(!workshop.store.takeEvents().isEmpty, "it was moved aside")
    }

    private func value(_ counter: DestinationCounter, of name: DestinationName) throws -> Int64 {
        try workshop.store.perform("read") { (writer) throws(SQLiteError) in
            try writer.tables.counters.value(counter, of: name)
        }
    }

    @Test("each counter survives a salvage, or its survival says why not", arguments: [1, 3] as [Int64])
    func counters(rejections: Int64) throws {
        try workshop.insert(1)
        let names: [DestinationName] = [.main, .fleet, .home]
        @Sendable func number(_ counter: DestinationCounter, _ name: DestinationName) -> Int64 {
            if counter == .consecutiveRejections { return rejections }
            let index = DestinationCounter.allCases.firstIndex(of: counter) ?? 0
            return Int64(1000 * (1 + (names.firstIndex(of: name) ?? 0)) + index)
        }
        try workshop.store.perform("write") { (writer) throws(SQLiteError) in
            for name in names {
                for counter in DestinationCounter.allCases {
                    try writer.tables.counters.set(counter, of: name, to: number(counter, name))
                }
            }
        }
        try salvage()
        for name in names {
            for counter in DestinationCounter.allCases {
                let survives =
                    switch counter.survival {
                    case .kept, .added: true
                    case .keptOnceSuspected: rejections >= 3
                    case .countedAnew: false
                    }
                let expected = survives ? number(counter, name) : 0
                #expect(try value(counter, of: name) == expected, "\(counter) of \(name)")
            }
        }
    }

    @Test("no counter has a name of its own elsewhere")
    func names() throws {
        _ = try workshop.insert(1...12)
        for name in [DestinationName.main, .fleet] {
            try workshop.store.adopt(endpoint: 1, format: 2, of: name)
            for _ in 0..<3 { try workshop.reject(name, limit: 1) }
            let batch = try #require(try workshop.store.nextFrozen(for: name))
            _ = try workshop.store.countOversized(batch, isPermanent: true)
            var refusals = Refusals()
            (refusals.batch, refusals.count, refusals.silentCloses) = (batch.id, 1, 1)
            try workshop.store.set(refusals, by: name)
        }
        workshop.options.maxRows = 4
        try workshop.insert(20)
        workshop.store.close()
        workshop.store = try Store(
            directory: workshop.directory.path, options: workshop.options, checkpointPages: 1000,
            largeTable: 1)
        workshop.store.close()
        let known = Set(DestinationCounter.allCases.map(\.rawValue))
        let found = try workshop.lines("SELECT name FROM counters WHERE name LIKE '%@%'")
        #expect(found.count > 8)
        for name in found {
            #expect(
                known.contains(String(name.prefix { $0 != "@" })),
                "give \(name) a case in DestinationCounter, which says what a salvage does with it")
        }
    }

    /// What a salvage does with the rows of each table.
    private static let tables = [
        "batches": "frozen again, if all of its rows are there",
        "commands": "kept",
        "debts": "follow the new numbers of the rows",
        "destinations": "of those that are not configured, since when",
        "rejected": "pending again", "rejected_events": "pending again",
        "streak": "ends: the dead letters that it names are pending again",
        "tallies": "counted anew",
    ]

    @Test("no table of destinations without a word for it")
    func tables() throws {
        let db = try Connection(path: workshop.directory.file("beekon.db"), access: .readOnly)
        let found = try Schema.tables(naming: "destination", in: db) + ["destinations"]
        #expect(
            Set(found) == Set(Self.tables.keys),
            "say in DestinationStateTests.tables what a salvage does with it, and have it do so")
    }
}
