internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Linux

/// The link to gpsd: connects while fixes are needed, and logs how connection and receiver do.
///
/// Confined to the reader's thread.
final class GPSDLink {
    /// How the connection stands.
    private enum Connection: Equatable {
        /// None, or the first attempt is under way.
        case none
        case up
        /// The latest attempt failed.
        case failed(String)
    }

    private var settings: Settings.GPSD
    private var source: Source
    private let random: RandomSource
    private let dialler: Dialler
    private var connection = Connection.none
    /// The health that was noted last.
    private(set) var health = SourceHealth.released

    /// - Returns: nil when there is no memory for libgps.
    init?(_ settings: Settings.GPSD, _ random: RandomSource, _ dialler: Dialler) {
        guard let source = Source(settings, random, dialler) else { return nil }
        self.settings = settings
        self.source = source
        self.random = random
        self.dialler = dialler
    }

    var facts: Source.Facts { source.facts }
    /// Whether there is no connection, because nothing needs fixes.
    var isReleased: Bool { source.isReleased }
    /// When `run` next has something to do, if nothing arrives before.
    var deadline: BootInstant? { source.deadline }

    /// Why no fix can come at present; nil when one can.
    var obstacle: String? {
        if case .failed(let reason) = connection { return unreachable(reason) }
        return health == .noDevice ? "gpsd has no receiver" : nil
    }

    // MARK: Work

    func add(to rest: inout Rest) {
        rest.add(source.descriptor, read: !source.wantsWrite, write: source.wantsWrite)
    }

    /// Does whatever is due.
    func run(now: BootInstant) -> [Source.Event] { source.run(now: now) }

    /// Time in which nobody listened is not silence of the receiver.
    func discountPause(seconds: Double) { source.discountPause(seconds: seconds) }

    /// Connects, because something needs fixes.
    func acquire(now: BootInstant) { source.acquire(now: now) }

    /// Disconnects, because nothing needs fixes any more.
    ///
    /// - Returns: the fixes of epochs that were still open.
    func release(now: BootInstant) -> [Source.Event] {
        connection = .none
        return source.release(now: now)
    }

    /// Closes the open epochs, because whatever arrives later belongs to another session.
    func flush(now: BootInstant) -> [Source.Event] { source.flush(now: now) }

    /// Uses another gpsd, or another receiver, from now on.
    ///
    /// - Returns: the last fixes from the old one; nil when nothing has changed.
    func configure(_ new: Settings.GPSD, now: BootInstant) -> [Source.Event]? {
        guard new != settings else { return nil }
        settings = new
        guard let fresh = Source(new, random, dialler) else { return nil }
        let last = release(now: now)
        source = fresh
        return last
    }

    // MARK: What has happened

    func noteConnected() {
        connection = .up
        Log.debug(.sourceChanged, "connected to gpsd at \(settings.host):\(settings.port)")
    }

    /// The connection was lost, or could not be made. Clients keep waiting for a fix through a restart of gpsd, but not
    /// for a gpsd that cannot be reached.
    ///
    /// - Parameter delay: seconds until the next attempt.
    /// - Returns: why waiting is in vain; nil when it is not.
    func noteDisconnected(_ reason: String, retryIn delay: Double) -> String? {
        if health != .disconnected {
            let pause = Int(delay.rounded(.up))
            Log.warning(
                .sourceChanged,
                "no connection to gpsd at \(settings.host):\(settings.port) (\(reason)); "
                    + "trying again in \(pause) s and from then on")
        }
        guard connection != .up else {
            connection = .none
            return nil
        }
        connection = .failed(reason)
        return unreachable(reason)
    }

    func noteReceiver(_ device: String) {
        Log.notice(.sourceChanged, "fixes come from \(device) now", [(.device, device)])
    }

    private func unreachable(_ reason: String) -> String {
        "gpsd at \(settings.host):\(settings.port) cannot be reached: \(reason)"
    }

    // MARK: Health

    /// - Parameters:
    ///   - isSettled: whether the receiver's time has settled.
    ///   - repeatsSince: since when it has told nothing but instants that are known; nil: it tells new ones.
    func health(now: BootInstant, isSettled: Bool, repeatsSince: BootInstant?) -> SourceHealth {
        source.health(now: now, isSettled: isSettled, repeatsSince: repeatsSince)
    }

    /// Logs a change.
    ///
    /// - Returns: whether it is one.
    func note(_ current: SourceHealth) -> Bool {
        guard current != health else { return false }
        let before = health
        health = current
        switch current {
        case .ok:
            Log.info(
                .sourceChanged, "receiver \(source.facts.device ?? "") has a fix and its time is settled",
                [(.device, source.facts.device ?? "")])
        case .noDevice:
            Log.warning(.sourceChanged, "gpsd has no receiver: check the cable and gpsd's list of devices")
        case .stale: Log.warning(.sourceChanged, "the receiver has sent no new fix for 10 s")
        case .noFix where before == .ok: Log.warning(.sourceChanged, "the receiver has lost its fix")
        case .noFix, .released, .disconnected, .unsettled: break
        }
        return true
    }
}

extension Source {
    init?(_ settings: Settings.GPSD, _ random: RandomSource, _ dialler: Dialler) {
        self.init(
            host: settings.host, port: settings.port, device: settings.device, random: random,
            dialler: dialler)
    }
}
