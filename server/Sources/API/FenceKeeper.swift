internal import Base
internal import Fences
internal import Logging
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Has each vehicle told of its fences when it uploads. Of vehicles that have theirs nothing is asked of the database until the
/// fleet changes, or they report something else; where there are no fences, nothing at all, but every few seconds whether
/// another server has changed the fleet.
final class FenceKeeper: Service {
    private let store: Store
    private let logger: Logger
    private let state = Mutex(State())

    /// Between two looks for what another server has changed.
    private static let pause = Duration.seconds(2)
    /// Vehicles that are remembered.
    private static let mostKnown = 200_000

    private struct State {
        var book = FenceBook.empty
        var known: [Int64: Known] = [:]
        /// The last try failed: that was logged.
        var failed = false
    }

    /// A vehicle of which nothing is to be asked for now.
    private struct Known {
        var finding: FenceOrders.Finding
        /// By the vehicle's word.
        var state: String?
    }

    /// As they were when it looked last.
    var book: FenceBook { state.withLock { $0.book } }

    init(store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await load()
                // Ends early with the server.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Reads the fences anew, where the fleet has changed: its groups are a part of who has which.
    func load() async {
        do {
            let former = book
            let new = try await store.read { session throws(StoreError) in
                try FenceBook.read(after: former, in: session)
            }
            guard let new else { return }
            state.withLock { state in
                // Another call may have read a newer one.
                guard new.revision > state.book.revision else { return }
                state.book = new
                state.known = [:]
            }
        } catch {
            if !Task.isCancelled { note(error, "fences") }
        }
    }

    /// What the answer to an upload has besides, whose rows are stored. What fails here is tried again with the next upload.
    ///
    /// - Returns: nil: nothing.
    func orders(for upload: FenceOrders.Upload) async -> FenceOrders.Offer? {
        let book = book
        guard book.isUsed, isOpen(upload) else { return nil }
        do {
            let (finding, offer) = try await store.write { session throws(StoreError) in
                try FenceOrders.advance(upload, book, in: session)
            }
            state.withLock { state in
                state.failed = false
                guard state.book.revision == book.revision else { return }
                // Whoever is forgotten is looked at once more.
                if state.known.count >= Self.mostKnown { state.known = [:] }
                state.known[upload.device] =
                    finding == .open ? nil : Known(finding: finding, state: upload.state)
            }
            return offer
        } catch {
            note(error, "fences of device \(upload.device)")
            return nil
        }
    }

    private func note(_ error: any Error, _ what: String) {
        let isFirst = state.withLock { state in
            defer { state.failed = true }
            return !state.failed
        }
        if isFirst { logger.failure(error, of: what, then: "trying again") }
    }

    private func isOpen(_ upload: FenceOrders.Upload) -> Bool {
        guard let known = state.withLock({ $0.known[upload.device] }) else { return true }
        switch known.finding {
        case .settled(let digest):
            guard let reported = upload.digest else { return false }
            return reported != digest
        case .holds(let until):
            if let state = upload.state, state != known.state { return true }
            return until.map { upload.now >= $0 } ?? (upload.status != nil)
        case .open: return true
        }
    }
}
