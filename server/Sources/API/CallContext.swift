internal import Hummingbird
internal import Logging

/// What Hummingbird hands to a responder beside the request; of it, nothing is used here.
struct CallContext: RequestContext {
    var coreContext: CoreRequestContextStorage

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// Without a connection.
    init(logger: Logger) {
        coreContext = CoreRequestContextStorage(source: Unconnected(logger: logger))
    }

    private struct Unconnected: RequestContextSource {
        let logger: Logger
    }
}
