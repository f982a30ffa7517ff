internal import Synchronization
internal import Upload

/// The requests of one destination since the start, by what came of them. To add one costs an increment.
final class RequestCounts: Sendable {
    /// What came of a request.
    enum Code: Hashable, Comparable {
        /// An answer.
        case status(Int)
        /// The reason code of a broker.
        case mqtt(Int)
        /// An answer that was not made for it.
        case unmatched
        case tls
        case timeout
        case network

        /// The name in metrics and events.
        var text: String {
            switch self {
            case .status(let status): "\(status)"
            case .mqtt(let code): "mqtt_\(code)"
            case .unmatched: "unmatched"
            case .tls: "tls"
            case .timeout: "timeout"
            case .network: "network"
            }
        }
    }

    private let state = Mutex<[Code: Int]>([:])
    private let refused = Atomic(0)

    /// Sorted by code.
    var counts: [(code: String, count: Int)] {
        state.withLock { counts in
            counts.sorted { $0.key < $1.key }.map { (code: $0.key.text, count: $0.value) }
        }
    }

    /// Lists of commands of the server that were refused as a whole.
    var refusedCommands: Int { refused.load(ordering: .relaxed) }

    func addRefusedCommands() {
        refused.add(1, ordering: .relaxed)
    }

    func add(_ code: Code) {
        state.withLock { $0[code, default: 0] += 1 }
    }
}

extension RequestCounts.Code {
    init(_ judgement: Judgement) {
        // A server may answer with any number, and each would be one more series.
        self =
            if judgement.broker != nil {
                .mqtt(judgement.status)
            } else {
                (100...599).contains(judgement.status) ? .status(judgement.status) : .network
            }
    }

    init(_ failure: TransportFailure) {
        self =
            if failure.isTLS {
                .tls
            } else if failure.isTimeout {
                .timeout
            } else {
                .network
            }
    }
}
