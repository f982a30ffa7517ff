import Base
import Support
import Testing

@testable import Storage
@testable import Tracking

extension DestinationName {
    static let fleet = DestinationName("fleet") ?? .main
    static let home = DestinationName("home") ?? .main
}

extension [StoreOptions.Destination] {
    static func named(_ names: DestinationName...) -> Self { names.map { StoreOptions.Destination($0) } }
}

/// What one destination does.
extension Workshop {
    /// The ids of what it is owed and has not refused, oldest first, once all of it has been delivered.
    @discardableResult
    func drain(_ name: DestinationName, limit: Int = 3) throws -> [UUIDv7] {
        var ids: [UUIDv7] = []
        while let batch = try freezeNext(for: name, limit: limit) {
            ids += try carried(batch)
            _ = try store.acknowledge(batch)
            try store.checkLedger()
        }
        return ids
    }

    /// The frozen batch, or another; nil when nothing is pending.
    func freezeNext(for name: DestinationName, limit: Int = 10) throws -> FrozenBatch? {
        if let batch = try store.nextFrozen(for: name) { return batch }
        guard let draft = try store.draftBatch(for: name, limit: limit) else { return nil }
        return try freezeAll(draft)
    }

    /// With a body that names its events, too.
    func freezeAll(_ draft: BatchDraft) throws -> FrozenBatch? {
        let body = (draft.locations.map(\.id) + draft.events.map(\.id)).flatMap(\.bytes)
        return try freeze(draft, body: body)
    }

    func carried(_ batch: FrozenBatch) throws -> [UUIDv7] {
        try #require(batch.ids.count == batch.rows)
        return batch.ids
    }

    @discardableResult
    func reject(_ name: DestinationName, limit: Int = 10, at seconds: Double = 1000) throws -> Rejection {
        let batch = try #require(try freezeNext(for: name, limit: limit))
        let result = try store.reject(batch, status: 422, at: time(seconds), trusted: nil)
        try store.checkLedger()
        return result
    }

    func requeue(_ name: DestinationName) throws -> Int {
        var work = try store.begin(.requeue, of: name)
        while !work.isFinished {
            try store.proceed(with: &work)
            try store.checkLedger()
        }
        return work.done
    }

    func backfill(_ name: DestinationName, from seconds: Double? = nil) throws -> Int {
        var work = Backfill(of: name, from: seconds.map { time($0) })
        while !work.isFinished {
            try store.proceed(with: &work)
            try store.checkLedger()
        }
        return work.done
    }

    func forget(_ name: DestinationName) throws -> Int {
        var work = Forgetting(name)
        while !work.isFinished {
            try store.proceed(with: &work)
            try store.checkLedger()
        }
        return work.removed
    }

    func resend(_ name: DestinationName) throws -> Int {
        var work = Resend(for: name, from: time(-1_000_000), to: nil)
        while !work.isFinished {
            try store.proceed(with: &work)
            try store.checkLedger()
        }
        return work.done
    }

    func configure(_ names: DestinationName...) throws {
        options.destinations = names.map { StoreOptions.Destination($0) }
        try store.checkLedger()
    }

    func pending(_ name: DestinationName) -> Int { store.counts()[name]?.pending ?? 0 }

    var seconds: [Double] {
        get throws { try stored().map { $0.fix.time.seconds(since: time(0)) } }
    }

    func dead(_ name: DestinationName) throws -> [UUIDv7] {
        let history = try History(directory: directory.path)
        var cursor = RejectedCursor(of: name)
        var ids: [UUIDv7] = []
        while !cursor.isAtEnd {
            ids += try history.next(&cursor).compactMap { $0.location?.id ?? $0.event?.id }
        }
        return ids
    }
}
