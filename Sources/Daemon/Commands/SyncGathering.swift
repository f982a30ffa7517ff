internal import Base

/// The results of attempts at several destinations, until there is one for each: then the worst of them is the answer, and
/// says whose it is.
struct SyncGathering {
    private var missing: Int
    private var worst: (result: Result<Completion, CommandFailure>, of: DestinationName)?
    private var uploaded = 0
    private var pending = 0
    private var rejected = 0

    init(waitingFor count: Int) {
        missing = count
    }

    /// - Returns: the answer, with the last result.
    mutating func add(
        _ result: Result<Completion, CommandFailure>, of name: DestinationName
    ) -> Result<Completion, CommandFailure>? {
        missing -= 1
        if case .success(.synced(let one)) = result {
            uploaded += one.uploaded
            pending += one.pending
            rejected += one.rejected
        }
        if Self.gravity(result) >= worst.map({ Self.gravity($0.result) }) ?? 0 { worst = (result, name) }
        guard missing == 0, let worst else { return nil }
        guard case .success(.synced(var answer)) = worst.result else { return worst.result }
        (answer.uploaded, answer.pending, answer.rejected) = (uploaded, pending, rejected)
        answer.destination = worst.of
        return .success(.synced(answer))
    }

    private static func gravity(_ result: Result<Completion, CommandFailure>) -> Int {
        guard case .success(.synced(let one)) = result else { return 7 }
        return switch one.outcome {
        case .disabled: 0
        case .nothingPending: 1
        case .drained: 2
        case .transient: 3
        case .rejected: 4
        case .permanent: 5
        case .auth: 6
        }
    }
}
