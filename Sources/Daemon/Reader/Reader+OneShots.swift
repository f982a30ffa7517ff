internal import Base
internal import Configuration
internal import GPSD
internal import Linux
internal import Tracking

extension Reader {
    /// How the connection to gpsd stands.
    enum Link: Equatable {
        /// None, or the first attempt is under way.
        case none
        case up
        /// The latest attempt failed.
        case failed(String)
    }

    /// The connection was lost, or could not be made. Who waits for a fix goes on waiting through a restart of gpsd, but not
    /// for a gpsd that cannot be reached.
    func linkLost(_ reason: String) {
        guard link != .up else {
            link = .none
            return
        }
        link = .failed(reason)
        refuseOneShots(unreachable(reason))
    }

    /// Connects when something needs fixes, and lets gpsd go when nothing does any more.
    ///
    /// - Returns: whether gpsd was let go now.
    @discardableResult
    func adjustSource(now: BootInstant) -> Bool {
        if state == .tracking || !fences.isEmpty || !oneShots.isEmpty {
            source.acquire(now: now)
            return false
        }
        guard !source.isReleased else { return false }
        for event in source.release(now: now) { handle(event, now: now) }
        link = .none
        receiverTime.unsettle()
        return true
    }

    func locate(_ request: OneShots.Request, now: BootInstant) {
        if let cached = oneShots.cachedFix(for: request, now: now) {
            return answer([request.id], with: cached)
        }
        if case .failed(let reason) = link { return refuse([request.id], unreachable(reason)) }
        if lastHealth == .noDevice { return refuse([request.id], "gpsd has no receiver") }
        oneShots.add(request, now: now)
        adjustSource(now: now)
    }

    /// Such a location belongs to no session and is not stored. Otherwise it equals the one stored from the same fix,
    /// if any.
    func answer(_ tokens: [Token], with observed: Admission.Observation) {
        for token in tokens {
            let location = Location(
                id: ids.next(at: observed.fix.time), session: nil, fix: observed.fix, trigger: .manual,
                motion: observed.motion, activity: observed.activity, quality: observed.quality)
            answer([token], with: .success(location))
        }
    }

    func answer(_ tokens: [Token], with result: Result<Location?, Failure>) {
        for token in tokens { hub.complete(token, result.map { .location($0) }) }
    }

    func refuseOneShots(_ reason: String) {
        refuse(oneShots.cancelAll(), reason)
    }

    private func refuse(_ tokens: [Token], _ reason: String) {
        answer(tokens, with: .failure(Failure(kind: .location, reason: reason)))
    }

    private func unreachable(_ reason: String) -> String {
        "gpsd at \(settings.gpsd.host):\(settings.gpsd.port) cannot be reached: \(reason)"
    }
}
