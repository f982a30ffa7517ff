internal import Base
internal import Linux
internal import Upload

/// Notices when the network comes back, for an uploader that would otherwise wait for its schedule.
final class NetworkWatch {
    private var monitor: RouteMonitor?
    private var loss: RouteLoss
    /// Any default route has changed since this was last set.
    var hasChanged = false

    init(now: BootInstant) {
        loss = RouteLoss(now: now)
    }

    /// For poll(2); negative while nothing is watched.
    var raw: Int32 { monitor?.raw ?? -1 }

    /// - Parameter isWanted: whether there is an upload, for which the network matters.
    func watch(_ isWanted: Bool) {
        guard isWanted else {
            monitor = nil
            return
        }
        guard monitor == nil else { return }
        do {
            monitor = try RouteMonitor()
        } catch {
            Log.warning(.uploadFailed, "the network's return will not be noticed: \(error)")
        }
    }

    /// - Returns: for each time that the network came back since the last call, how many seconds it was away.
    func outages(now: BootInstant) -> [Double] {
        var outages: [Double] = []
        for change in monitor?.receive() ?? [] {
            hasChanged = true
            switch change {
            case .vanished: loss.vanished(now: now)
            case .appeared: outages.append(loss.appeared(now: now))
            }
        }
        return outages
    }
}
