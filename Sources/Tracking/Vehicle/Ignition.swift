package import Base

/// What follows from the debounced level of the ignition. Pure: boot time is an argument.
///
///     off ── on ──> record, start, admit the next fix
///     on ── off ──> record, upload, admit the next fix; stop after the delay, unless on again or overruled meanwhile
///
/// What is reported is a change against what was known last, also across restarts of the daemon. In a new boot a level
/// that was on has gone off in between, whatever it is now: with it the machine went off.
package struct Ignition: Sendable {
    /// What must survive a restart: written with each change.
    package struct Memory: Equatable, Sendable {
        /// nil while unknown.
        package var isOn: Bool?
        /// In which boot that was.
        package var boot: BootID

        package init(isOn: Bool?, boot: BootID) {
            self.isOn = isOn
            self.boot = boot
        }
    }

    /// The settings that decide.
    package struct Policy: Equatable, Sendable {
        /// `on_ignition = "track"`: it starts and stops tracking.
        package var tracks: Bool
        /// Seconds from off to the stop.
        package var offDelay: Double
        /// `ignition = "manual"`: after a reboot nobody has said anything yet.
        package var isManual: Bool

        package init(tracks: Bool, offDelay: Double = 60, isManual: Bool = false) {
            self.tracks = tracks
            self.offDelay = offDelay
            self.isManual = isManual
        }
    }

    package enum Action: Equatable, Sendable {
        /// An event: on or off.
        case record(isOn: Bool, EventTime)
        /// A wish of the ignition's to track, or not to.
        case start, stop
        /// With trigger `motion`: the place of this edge is worth keeping.
        case admitNextFix
        /// Off is a trigger of uploads: it may be the last chance for hours.
        case upload
    }

    /// What of tracking matters here.
    package enum Tracking: Equatable, Sendable {
        case off
        /// By whoever wished so last.
        case on(by: Wish.Origin)
    }

    package var policy: Policy
    /// To be persisted.
    package private(set) var memory: Memory
    /// When `expire` is due; nil while no stop is pending.
    package private(set) var deadline: BootInstant?
    /// What is known now; nil before the first reading, and while it cannot be read.
    package private(set) var level: Bool?
    private let isNewBoot: Bool
    private let boot: BootID

    /// - Parameters:
    ///   - memory: as persisted; nil at the very first start, and when none was configured before.
    ///   - boot: the present one.
    package init(_ memory: Memory?, policy: Policy, boot: BootID) {
        self.policy = policy
        self.boot = boot
        self.memory = memory ?? Memory(isOn: nil, boot: boot)
        isNewBoot = self.memory.boot != boot
    }

    /// The daemon has started: to be called once, before the first reading. For manual ignition that reading is what is
    /// remembered of this boot, if anything.
    ///
    /// - Parameter lastStored: the last time known of the boot before, that of the newest row or event; nil without any.
    package mutating func start(lastStored: Timestamp?) -> [Action] {
        guard isNewBoot else { return [] }
        let before = memory
        memory = Memory(isOn: policy.isManual ? nil : before.isOn.map { _ in false }, boot: boot)
        guard before.isOn == true else { return [] }
        let unknown = EventTime.pending(before.boot, BootInstant(nanoseconds: 0))
        return [.record(isOn: false, lastStored.map { .known($0, isEstimated: true) } ?? unknown)]
    }

    /// Processes a debounced level: the first one read, and each change.
    ///
    /// - Parameters:
    ///   - anchor: nil while no time can be trusted.
    ///   - tracking: as it is now.
    package mutating func observe(
        _ edge: LevelDebounce.Edge, anchor: EventTime.Anchor?, tracking: Tracking
    ) -> [Action] {
        let isFirst = level == nil
        let before = memory.isOn
        level = edge.isOn
        memory.isOn = edge.isOn
        guard before != edge.isOn, before != nil || edge.isOn else {
            return isFirst && !edge.isOn ? stopWhatItStarted(edge, tracking) : []
        }
        var actions: [Action] = [.record(isOn: edge.isOn, EventTime(at: edge.at, boot: boot, anchor: anchor))]
        deadline = nil
        if edge.isOn {
            if policy.tracks { actions.append(.start) }
        } else {
            actions.append(.upload)
            if policy.tracks, tracking != .off { deadline = edge.at.advanced(bySeconds: policy.offDelay) }
        }
        if tracking != .off { actions.append(.admitNextFix) }
        return actions
    }

    /// Off as it was known to be, but the stop never came: the daemon, or the machine, went off before.
    private mutating func stopWhatItStarted(_ edge: LevelDebounce.Edge, _ tracking: Tracking) -> [Action] {
        guard policy.tracks, tracking == .on(by: .ignition) else { return [] }
        guard !isNewBoot else { return [.stop] }
        deadline = edge.at.advanced(bySeconds: policy.offDelay)
        return []
    }

    /// - Returns: the stop, if its delay has passed.
    package mutating func expire(now: BootInstant) -> [Action] {
        guard let due = deadline, due <= now else { return [] }
        deadline = nil
        return policy.tracks ? [.stop] : []
    }

    /// Somebody else's wish has been taken, which is newer than the edge whose stop was pending.
    package mutating func overrule() {
        deadline = nil
    }

    /// The level can be read no more. Tracking goes on as it is.
    package mutating func lose() {
        level = nil
        deadline = nil
    }
}
