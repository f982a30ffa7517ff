import ArgumentParser
import ControlProtocol
import ControlTool

/// The option of verbs that concern one destination.
struct DestinationOption: ParsableArguments {
    @Option(
        name: .customLong("destination"),
        help: "A destination, as beekonctl destinations lists them; without it, main, which is [sync].",
        completion: .destinations)
    var name: String?
}

extension CompletionKind {
    /// The destinations of the beekond at the usual socket.
    static var destinations: CompletionKind {
        .custom { _, _, _ in
            guard let common = try? CommonOptions.parse([]), var client = try? common.connect() else {
                return []
            }
            let status = try? client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 1).status
            return status?.destinations.map { Text.safe($0.name) } ?? []
        }
    }
}
