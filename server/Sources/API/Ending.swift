internal import ServiceLifecycle

/// Tells that the server is to end. It is the first to hear of it.
struct Ending: Service {
    let begun: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        begun()
    }
}
