import Base
import Support
import Testing
import Tracking

@testable import Storage

/// Batches, and the commands that come with their answers.
extension Workload {
    func upload() throws {
        if ledger.isFrozen {
            if random.chance(0.2) { try reject() } else { try acknowledge() }
        } else if ledger.pending > 0 {
            try freeze()
        }
    }

    private func freeze() throws {
        let limit = [3, 20, 100].randomElement(using: &random) ?? 3
        var drafted: BatchDraft?
        let order: BatchOrder = random.chance(0.3) ? .newest : .oldest
        try persist { drafted = try store.draftBatch(limit: limit, order: order) }
        let draft = try #require(drafted)
        ledger.draft(draft.locations.map(\.id) + draft.events.map(\.id) + draft.vehicleEvents.map(\.id))
        // Fixes go on being written while the body is compressed.
        for _ in 0..<Int.random(in: 0...2, using: &random) { try insert() }
        let id = ids.next(at: time)
        let body = (0..<Int.random(in: 1...3000, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
        var batch: FrozenBatch?
        do {
            batch = try store.freeze(draft, id: id, StoredRequest(body: body))
        } catch {
            // It may have been written all the same; the draft is forgotten.
            try persist { batch = try store.nextFrozen() }
            if batch == nil { ledger.draft([]) }
        }
        guard let batch else {
            try #require(syncsFail)
            return
        }
        frozen = batch
        ledger.freeze(id: id, body: body)
        try note()
    }

    private func acknowledge() throws {
        let batch = try #require(frozen)
        var next: BatchDraft?
        let order: BatchOrder = random.chance(0.3) ? .newest : .oldest
        if random.chance(0.5) {
            try persist { next = try store.draftBatch(limit: 20, order: order, after: batch) }
        }
        let id = ids.next(at: time)
        let body = (0..<Int.random(in: 1...3000, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
        let asked = random.chance(0.3) ? commands() : nil
        var isFirst = true
        try persist {
            // As the uploader does: what has failed once is acknowledged alone.
            let draft = isFirst ? next : nil
            isFirst = false
            switch (asked, draft) {
            case (nil, nil): _ = try store.acknowledge(batch)
            case (nil, let next?):
                _ = try store.acknowledge(batch, freezing: next, id: id, StoredRequest(body: body))
            case (let asked?, let draft):
                let next = draft.map { (draft: $0, id: id, request: StoredRequest(body: body)) }
                _ = try store.acknowledge(batch, freezing: next, journaling: asked)
            }
        }
        ledger.acknowledge(keeping: options.keepsUploaded)
        ledger.commands.write(asked?.commands ?? [])
        try persist { frozen = try store.nextFrozen() }
        if let next, frozen?.id == id {
            ledger.draft(next.locations.map(\.id) + next.events.map(\.id) + next.vehicleEvents.map(\.id))
            ledger.freeze(id: id, body: body)
        }
        try note()
    }

    /// A few ids, so that they come again; sometimes with other content.
    private func commands() -> CommandList {
        let commands = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            NewCommand(
                id: "c-\(Int.random(in: 1...40, using: &random))", name: "set_config",
                digest: [random.chance(0.1) ? 66 : 65], text: String(repeating: "x", count: 300))
        }
        return CommandList(from: .main, answering: ids.next(at: time), at: time, commands)
    }

    func runCommand() throws {
        guard ledger.commands.hasWaiting else { return }
        let error = random.chance(0.3) ? "refused" : nil
        let (time, store) = (time, store)
        var command: CommandRecord?
        try persist { command = try store.nextCommand(of: .main) }
        let next = try #require(command)
        try persist { try store.finish(next, with: CommandOutcome(error: error), at: time) }
        ledger.commands.run(error: error)
        try note()
    }

    func sendResults() throws {
        let store = store
        var results: [CommandRecord] = []
        try persist { results = try store.queuedResults(for: .main, limit: 3) }
        let asked = random.chance(0.3) ? commands() : nil
        guard !results.isEmpty || asked != nil else { return }
        try persist { _ = try store.journal(asked, sent: results) }
        ledger.commands.send(3)
        ledger.commands.write(asked?.commands ?? [])
        try note()
    }

    private func reject() throws {
        let batch = try #require(frozen)
        // The dead letters that are there have had their time, unless the endpoint is suspected, or may come to be.
        if random.chance(0.2) { time = time.advanced(bySeconds: 8 * 86_400) }
        var next: FrozenBatch?
        try persist {
            if try store.nextFrozen() == batch {
                _ = try store.reject(batch, status: 422, at: time, trusted: time)
            }
            next = try store.nextFrozen()
        }
        let isSuspected = ledger.reject(at: time.milliseconds, cap: Self.cap)
        try #require((next == batch) == isSuspected)
        try note()
    }

    /// The batch fails for its size until it may be dissolved. What was refused for good before an attempt is not after it.
    func rebatch() throws {
        guard let batch = frozen else { return }
        var failures = 0
        while failures < 3 {
            try persist { _ = try store.beginAttempt(batch) }
            try note()
            try persist { failures = try store.countOversized(batch, isPermanent: failures % 2 == 0) }
            try note()
        }
        try persist {
            if case .tooFew = try store.rebatch() { throw SetUpFailed(operation: "rebatch", code: 0) }
        }
        frozen = nil
        ledger.dissolve()
        try note()
    }
}
