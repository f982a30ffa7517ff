internal import Logging
internal import ServerStore
internal import ServiceLifecycle

/// Removes what servers tell each other of changes, once nobody asks for it any more. It goes by how long this server has run, and by
/// no clock that may be wrong.
struct ChangeKeeper: Service {
    let store: Store
    let logger: Logger

    private struct Limits {
        var changes: Int64
        var revocations: Int64
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await keep() }
    }

    private func keep() async {
        var limits: Limits?
        while !Task.isCancelled {
            do {
                limits = try await remove(below: limits)
            } catch {
                logger.error("changes: \(error); trying again in ten minutes")
            }
            // Ends early with the server.
            try? await Task.sleep(for: Changes.kept)
        }
    }

    /// - Parameter limits: of the round before.
    private func remove(below limits: Limits?) async throws -> Limits {
        let next = try await store.read { session throws(StoreError) in
            Limits(
                changes: try Changes.limit(in: session), revocations: try Revocations.limit(in: session))
        }
        guard let limits else { return next }
        while try await store.write({ session throws(StoreError) in
            try Changes.prune(below: limits.changes, in: session)
        }), !Task.isCancelled {}
        try await store.write { session throws(StoreError) in
            try Revocations.prune(below: limits.revocations, in: session)
        }
        return next
    }
}
