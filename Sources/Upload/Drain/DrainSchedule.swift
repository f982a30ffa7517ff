package import Base
internal import Tracking

/// What makes a drain start.
package enum DrainTrigger: Equatable, Sendable {
    /// The user asks: one attempt at once, in every state.
    case command
    /// Settings, credentials or the queue have been changed, or the disk works again: the same, unless only the user may
    /// start a drain.
    case change
    /// A session has stopped with fixes pending.
    case sessionStopped
    /// The ignition has been switched off, or the first fix after that is stored: the power may go soon. With on_ignition =
    /// "track" the stop that follows starts a drain in back-off, too.
    case ignitionOff
    /// So many fixes are pending that the threshold is reached.
    case threshold
    /// The vehicle has parked or set off.
    case motion
    /// A geofence event has been recorded.
    case geofence
    /// What the server has asked for has been done, and it does not know yet; or it has asked for an upload.
    case results
    /// The server wants to have the daemon's log.
    case log
    /// The daemon has started with fixes pending.
    case started
    /// A default route has appeared after this many seconds without one.
    case networkReturned(outage: Double)
}

/// How a drain ended.
package enum DrainOutcome: Equatable, Sendable {
    /// Nothing is pending any more.
    case drained
    /// `retryAfter` in seconds, when the server asked for it.
    case transient(isNetwork: Bool, retryAfter: Double?)
    case failed(Failure)

    /// A failure that waiting alone will not mend.
    package enum Failure: String, Equatable, Sendable {
        case auth, permanent, rejected
        /// A batch was rejected, and there is no room among the dead letters.
        case deadLettersFull = "dead_letters_full"
        /// A 2xx that is not believed: see `Doubt`.
        case page
        case phpError = "php_error"
        case noAck = "no_ack"
        case refused

        /// The failure that a doubt leads to.
        package init(_ doubt: Doubt) {
            switch doubt {
            case .page: self = .page
            case .phpError: self = .phpError
            case .noAck: self = .noAck
            case .refused, .unread: self = .refused
            }
        }
    }
}

/// Decides when the uploader tries. Pure: time and randomness are arguments.
///
/// All triggers start the same drain. During back-off only a command, a stop, (after network errors) the return of the
/// network and (where the rules say so) a geofence event start it early; only a command overrides a Retry-After. After a
/// failure that waiting alone will not mend, only the schedule and a command start it. Where the rules leave it to the user,
/// nothing but a command does. Heartbeats go as it admits them.
package struct DrainSchedule: Sendable {
    private enum State: Equatable {
        case ready
        /// `delay` in seconds: how long the back-off is. `isAsked`: the server asked for it.
        case backingOff(until: BootInstant, delay: Double, isNetwork: Bool, isAsked: Bool)
        case failed(DrainOutcome.Failure)
    }

    /// Seconds: a van that is powered for four minutes at a time must upload too.
    private static let startDelay = 30.0
    /// Seconds. After an hour without a server all come back within as long, each with more to send than usual, and those that
    /// are parked, too: with 300, three times as many requests as before (docs/fleet.md); with twice that, less than two.
    private static let longestBackOff = 600.0
    /// Seconds: bounds of the random delay after the network has returned.
    private static let returnDelay = 10.0...300.0

    /// Seconds between early attempts for geofence events, at least: a row of fences must not undo the back-off.
    private static let geofencePause = 30.0

    private var rules: DrainRules
    private var state = State.ready
    private var backOff = BackOff(first: 2, ceiling: Self.longestBackOff)
    /// The next scheduled drain.
    private var tick: BootInstant
    /// The earliest drain that a trigger asked for.
    private var wanted: BootInstant?
    /// The early attempt that a geofence event asked for.
    private var wantedForGeofence: BootInstant?
    /// When the latest of these began.
    private var triedForGeofence: BootInstant?
    /// A command asked for the next drain.
    package private(set) var isForced = false
    /// Attempts that followed a transient failure.
    package private(set) var retries = 0
    /// When the server is told that the vehicle lives though nothing is pending.
    package private(set) var heartbeat: Heartbeat

    /// The first round ends at a random moment, so that a fleet that is powered up together does not stay in step.
    package init(_ rules: DrainRules, now: BootInstant, using random: inout some RandomNumberGenerator) {
        self.rules = rules
        tick = now.advanced(bySeconds: Round.first(of: rules.interval, using: &random))
        heartbeat = Heartbeat(interval: rules.heartbeat, now: now, using: &random)
    }

    /// Other rules, from now on. The first round of another interval, too, ends at a random moment: a fleet may be
    /// reconfigured all at once.
    package mutating func change(
        _ new: DrainRules, now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        let old = rules
        rules = new
        if new.interval != old.interval {
            tick = now.advanced(bySeconds: Round.first(of: new.interval, using: &random))
        }
        heartbeat.change(interval: new.heartbeat, now: now, using: &random)
    }

    /// Another server has asked for no pause, and has refused nothing.
    package mutating func serverChanged() {
        backOff.reset()
        state = .ready
        heartbeat.serverChanged()
    }

    /// Why the latest drain failed; nil unless waiting alone will not mend it.
    package var failure: DrainOutcome.Failure? {
        if case .failed(let failure) = state { failure } else { nil }
    }

    /// When the next drain is due; nil while only the user can start one.
    package var due: BootInstant? {
        // The boot itself: long ago, and yet a time that others can be compared with.
        if isForced { return BootInstant(nanoseconds: 0) }
        if rules.isManual { return nil }
        switch state {
        case .ready: return min(wanted ?? tick, tick)
        case .backingOff(let until, _, _, _): return min(wanted ?? until, wantedForGeofence ?? until, until)
        case .failed: return tick
        }
    }

    /// When what is due at `time` by itself, such as a heartbeat, may go: in back-off not before its end, after a failure that
    /// waiting alone will not mend on the schedule. nil: never, where only the user starts an upload.
    package func admits(_ time: BootInstant) -> BootInstant? {
        if rules.isManual { return nil }
        return switch state {
        case .ready: time
        case .backingOff(let until, _, _, _): max(time, until)
        case .failed: max(time, tick)
        }
    }

    /// Something happened that may make a drain due; `due` says when.
    package mutating func trigger(
        _ trigger: DrainTrigger, now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        let time: BootInstant
        switch trigger {
        case .command:
            isForced = true
            return
        case .change:
            isForced = isForced || !rules.isManual
            return
        case .geofence where rules.retriesForGeofences && isBackingOffUnasked:
            let earliest = triedForGeofence?.advanced(bySeconds: Self.geofencePause) ?? now
            wantedForGeofence = wantedForGeofence ?? max(earliest, now)
            return
        case .sessionStopped, .ignitionOff, .threshold, .motion, .geofence, .results, .log: time = now
        case .started: time = now.advanced(bySeconds: Double.random(in: 0...Self.startDelay, using: &random))
        case .networkReturned(let outage):
            let most = min(max(outage / 2, Self.returnDelay.lowerBound), Self.returnDelay.upperBound)
            time = now.advanced(bySeconds: Double.random(in: 0...most, using: &random))
            postponeRetry(to: time)
        }
        if startsDrain(trigger) { wanted = min(wanted ?? time, time) }
    }

    /// A fleet that comes back together must be spread by one random delay. If each vehicle kept a retry that happens to be
    /// due sooner, the first of them would arrive more than twice as densely as the rest. A short delay means that the
    /// outage was short for this vehicle. The next return of the network postpones nothing again.
    private mutating func postponeRetry(to time: BootInstant) {
        guard case .backingOff(_, let delay, isNetwork: true, isAsked: false) = state,
            delay > Self.returnDelay.lowerBound
        else { return }
        state = .backingOff(until: time, delay: 0, isNetwork: true, isAsked: false)
    }

    /// A back-off that the server has not asked for.
    private var isBackingOffUnasked: Bool {
        if case .backingOff(_, _, _, isAsked: false) = state { true } else { false }
    }

    private func startsDrain(_ trigger: DrainTrigger) -> Bool {
        switch (state, trigger) {
        case (.ready, _): true
        case (.backingOff(_, _, _, isAsked: true), _), (.failed, _): false
        case (.backingOff, .sessionStopped): true
        case (.backingOff(_, _, let isNetwork, _), .networkReturned): isNetwork
        case (.backingOff, _): false
        }
    }

    /// A drain starts.
    package mutating func begin(now: BootInstant, using random: inout some RandomNumberGenerator) {
        if case .backingOff = state { retries += 1 }
        if let wantedForGeofence, wantedForGeofence <= now { triedForGeofence = now }
        isForced = false
        wanted = nil
        wantedForGeofence = nil
        if tick <= now {
            tick = now.advanced(bySeconds: Round.next(of: rules.interval, using: &random))
        }
    }

    /// The drain that started has ended.
    ///
    /// - Returns: seconds until the next attempt, when it is a retry; nil also when nothing but the user makes one.
    @discardableResult
    package mutating func end(
        _ outcome: DrainOutcome, now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> Double? {
        wantedForGeofence = nil
        switch outcome {
        case .drained:
            backOff.reset()
            state = .ready
            return nil
        case .failed where rules.isLatestOnly:
            return retry(at: now, isNetwork: false, isAsked: true, using: &random)
        case .failed(let failure):
            backOff.reset()
            state = .failed(failure)
            wanted = nil
            return nil
        case .transient(let isNetwork, let retryAfter):
            return retry(
                at: now, notBefore: retryAfter ?? 0, isNetwork: isNetwork, isAsked: retryAfter != nil,
                using: &random)
        }
    }

    /// - Parameter seconds: how long the server wants to be left alone, at least.
    private mutating func retry(
        at now: BootInstant, notBefore seconds: Double = 0, isNetwork: Bool, isAsked: Bool,
        using random: inout some RandomNumberGenerator
    ) -> Double? {
        let delay = max(backOff.next(using: &random), seconds)
        state = .backingOff(
            until: now.advanced(bySeconds: delay), delay: delay, isNetwork: isNetwork, isAsked: isAsked)
        wanted = nil
        return rules.isManual ? nil : delay
    }

    // MARK: Heartbeats

    /// When a heartbeat is the reason for one; nil: never.
    package var heartbeatDue: BootInstant? { heartbeat.due.flatMap { admits($0) } }

    /// Whether a heartbeat is due. From then on it is owed to the server.
    package mutating func beginHeartbeat(now: BootInstant) -> Bool { heartbeat.begin(now: now) }

    /// A request, with or without rows, is about to be sent.
    package mutating func requested(now: BootInstant, using random: inout some RandomNumberGenerator) {
        heartbeat.attempted(now: now, using: &random)
    }

    /// The server has accepted a request.
    package mutating func accepted() { heartbeat.accepted() }

    /// The server has refused an envelope without rows for good.
    package mutating func refusedEnvelope(now: BootInstant) { heartbeat.refused(now: now) }
}
