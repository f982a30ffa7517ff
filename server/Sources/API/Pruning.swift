internal import Base
internal import Logging
internal import ServerStore
internal import ServiceLifecycle

/// Removes what is older than the retention, once an hour. With PostgreSQL every server does, and finds little.
struct Pruning: Service {
    let store: Store
    let days: Int
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await prune() }
    }

    private func prune() async {
        while !Task.isCancelled {
            let before = Responder.now.advanced(bySeconds: -86_400 * Double(days))
            do {
                while try await store.write({ session throws(StoreError) in
                    try Retention.prune(before: before, in: session)
                }) {}
            } catch {
                logger.error("retention: \(error); trying again in an hour")
            }
            // Ends early with the server.
            try? await Task.sleep(for: .seconds(3600))
        }
    }
}
