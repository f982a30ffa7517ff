internal import ServerStore
internal import ServiceLifecycle

/// Looks after the hosts of PostgreSQL while connections last: an old primary that is still connected to, or has come back, is found
/// before somebody connects.
struct HostWatch: Service {
    let store: Store

    private static let round = Duration.seconds(15)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Ends early with the server.
                try? await Task.sleep(for: Self.round)
                if !Task.isCancelled { await store.lookAtHosts() }
            }
        }
    }
}
