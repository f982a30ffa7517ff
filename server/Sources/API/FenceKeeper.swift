internal import Base
internal import Fences
internal import Logging
internal import ServerStore
internal import Synchronization

/// Has each vehicle told of its fences when it uploads. Of vehicles that have theirs nothing is asked of the database until the
/// fleet changes, or they report something else; where there are no fences, nothing at all.
final class FenceKeeper: Sendable {
    private let store: Store
    private let logger: Logger
    private let state = Mutex(State())

    /// How long a change by another server of this database may be unknown.
    private static let trust = Duration.seconds(2)
    /// Vehicles that are remembered.
    private static let mostKnown = 200_000

    private struct State {
        var book = FenceBook.empty
        /// When it was last asked for; nil: never.
        var checked: ContinuousClock.Instant?
        var known: [Int64: Known] = [:]
        var failed = false
    }

    /// A vehicle of which nothing is to be asked for now.
    private struct Known {
        /// Of the book.
        var revision: Int64
        var finding: FenceOrders.Finding
        /// By the vehicle's word.
        var state: String?
    }

    init(store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// The fleet has been changed here.
    func wake() {
        state.withLock { $0.checked = nil }
    }

    /// What the answer to an upload has besides, whose rows are stored. What fails here is tried again with the next upload.
    ///
    /// - Returns: nil: nothing.
    func orders(
        for upload: FenceOrders.Upload
    ) async -> (commands: [WaitingCommand], counter: Int64?)? {
        do {
            let book = try await book()
            guard book.isUsed, isOpen(upload, book) else { return nil }
            let finding = try await store.read { session throws(StoreError) in
                try FenceOrders.look(at: upload, book, in: session)
            }
            note(finding, of: upload, book)
            guard finding == .open else { return nil }
            let offer = try await store.write { session throws(StoreError) in
                let offer = try FenceOrders.advance(upload, book, in: session)
                return offer.map { Offer(commands: $0.commands, counter: $0.counter) }
            }
            state.withLock { $0.failed = false }
            return offer.map { ($0.commands, $0.counter) }
        } catch {
            let isFirst = state.withLock { state in
                defer { state.failed = true }
                return !state.failed
            }
            if isFirst { logger.error("fences of device \(upload.device): \(error); trying again as vehicles upload") }
            return nil
        }
    }

    private struct Offer: Sendable {
        var commands: [WaitingCommand]
        var counter: Int64?
    }

    private func book() async throws(StoreError) -> FenceBook {
        let (book, isFresh) = state.withLock { state in
            let now = ContinuousClock.now
            let isFresh = state.checked.map { now - $0 < Self.trust } ?? false
            // Others take what there is meanwhile.
            if !isFresh { state.checked = now }
            return (state.book, isFresh)
        }
        guard !isFresh else { return book }
        let new = try await store.read { session throws(StoreError) in
            try FenceBook.read(after: book, in: session)
        }
        guard let new else { return book }
        state.withLock { state in
            guard new.revision > state.book.revision else { return }
            state.book = new
            state.known = [:]
        }
        return new
    }

    private func isOpen(_ upload: FenceOrders.Upload, _ book: FenceBook) -> Bool {
        let known = state.withLock { $0.known[upload.device] }
        guard let known, known.revision == book.revision else { return true }
        switch known.finding {
        case .settled(let digest):
            guard let reported = upload.digest else { return false }
            return reported != digest
        case .holds(let until):
            if let state = upload.state, state != known.state { return true }
            return until.map { upload.now >= $0 } ?? (upload.status != nil)
        case .open, .stale: return true
        }
    }

    private func note(_ finding: FenceOrders.Finding, of upload: FenceOrders.Upload, _ book: FenceBook) {
        state.withLock { state in
            switch finding {
            case .settled, .holds:
                // Whoever is forgotten is looked at once more.
                if state.known.count >= Self.mostKnown { state.known = [:] }
                state.known[upload.device] = Known(
                    revision: book.revision, finding: finding, state: upload.state)
            case .open: state.known[upload.device] = nil
            case .stale: state.checked = nil
            }
        }
    }
}
