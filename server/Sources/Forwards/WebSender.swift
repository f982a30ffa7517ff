internal import Alerts
internal import ServerStore

/// Posts envelopes as they came: the receiver may be another beekon-server.
final class WebSender: Sender {
    /// At once; of one vehicle, one after the other.
    private static let most = 8
    /// Seconds for which what is under way may go on at the end.
    private static let farewell = Duration.seconds(2)
    /// With these it is the envelope that the receiver does not like.
    private static let refusals = [400, 409, 413, 415, 422]
    /// With these it is the token.
    private static let denials = [401, 403]

    private let target: ForwardTarget
    private let courier: Courier

    init(_ target: ForwardTarget, userAgent: String) {
        self.target = target
        courier = Courier(userAgent: userAgent)
    }

    func end() { courier.end(within: Self.farewell) }

    func send(_ parcels: [Outbox.Parcel]) async -> [ForwardOutcome] {
        let byDevice = Dictionary(grouping: parcels.indices) { parcels[$0].key.device }
        var chains = ArraySlice(byDevice.values.sorted { $0[0] < $1[0] })
        var outcomes = [ForwardOutcome](repeating: .open, count: parcels.count)
        await withTaskGroup(of: [(Int, ForwardOutcome)].self) { group in
            var isFailing = false
            var running = 0
            while true {
                while !isFailing, running < Self.most, let chain = chains.popFirst() {
                    running += 1
                    group.addTask { await self.send(chain.map { (place: $0, parcel: parcels[$0]) }) }
                }
                guard let some = await group.next() else { break }
                running -= 1
                for (place, outcome) in some {
                    outcomes[place] = outcome
                    if case .failed = outcome { isFailing = true }
                }
            }
        }
        return outcomes
    }

    /// Sends those of one vehicle, in their order, until one fails.
    private func send(_ chain: [(place: Int, parcel: Outbox.Parcel)]) async -> [(Int, ForwardOutcome)] {
        var outcomes: [(Int, ForwardOutcome)] = []
        for (place, parcel) in chain {
            let outcome = await send(parcel)
            outcomes.append((place, outcome))
            switch outcome {
            case .accepted, .refused: continue
            case .failed, .open: return outcomes
            }
        }
        return outcomes
    }

    private func send(_ parcel: Outbox.Parcel) async -> ForwardOutcome {
        var headers = ["Idempotency-Key: \(parcel.id)"]
        headers += ForwardTarget.headers(parcel).map { "\($0.name): \($0.value)" }
        if let path = target.tokenFile {
            do throws(CredentialFile.Invalid) {
                let token = try CredentialFile.read(ForwardTarget.fill(path, parcel, isPath: true))
                guard token.utf8.allSatisfy({ (33...126).contains($0) }) else {
                    throw CredentialFile.Invalid(reason: "the token has something that no header can have")
                }
                headers.append("Authorization: Bearer \(token)")
            } catch {
                let reason = "token_file: \(error.reason)"
                return target.hasTokens ? .refused(reason) : .failed(reason)
            }
        }
        let attempt = await courier.send(
            .post(
                url: ForwardTarget.fill(target.url, parcel), headers: headers, body: parcel.body,
                caFile: target.caFile))
        switch attempt.outcome {
        case .accepted: return .accepted
        case .interrupted: return .open
        case .failed(let reason):
            let status = attempt.status ?? 0
            let isOfOne = Self.refusals.contains(status) || target.hasTokens && Self.denials.contains(status)
            return isOfOne ? .refused(reason) : .failed(reason)
        }
    }
}
