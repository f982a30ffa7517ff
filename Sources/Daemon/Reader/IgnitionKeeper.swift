internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Sensors
internal import Storage
internal import Tracking

/// The ignition and external power: reads their levels, says what follows from them, and remembers them over restarts.
/// There is one only while one of the two is configured.
///
/// Confined to the reader's thread.
final class IgnitionKeeper {
    /// What is to be done, in this order.
    enum Consequence: Equatable {
        case ignition(Ignition.Action)
        case power(ExternalPower.Event, supply: String)
    }

    /// Where the levels come from.
    private struct Levels: ~Copyable {
        var gpio: GPIOSensor?
        var supply: SupplySensor?
        /// Why a level cannot be read.
        var gpioTrouble: String?
        var supplyTrouble: String?
    }

    /// Seconds until a wish or a file that could not be written is written again.
    private static let patience = 10.0

    private let hub: Hub
    private let boot: BootID
    private var settings: Settings.Vehicle
    private var levels = Levels()
    private var ignition: Ignition?
    private var power: ExternalPower?
    private var lastPlace = LastPlace()
    /// What the file holds.
    private var kept: StoredVehicle?
    /// The ids of the latest events, by kind.
    private var latest: [String: String] = [:]
    /// When the file is to be written again.
    private var writeAt: BootInstant?
    /// A wish of the ignition's that could not be written, and when it is tried again.
    private var postponed: (isStart: Bool, at: BootInstant)?

    /// - Parameter root: replaces / where power supplies are looked for.
    /// - Returns: nil when neither is configured: it costs nothing then.
    init?(hub: Hub, settings: Settings.Vehicle, boot: BootID, root: String = "") {
        guard settings.hasLevels else { return nil }
        self.hub = hub
        self.settings = settings
        self.boot = boot
        let debounce = settings.ignitionDebounceSeconds
        if settings.ignition == .gpio {
            levels.gpio = GPIOSensor(settings.gpio.place, debounce: debounce)
        }
        if !settings.supply.isEmpty {
            levels.supply = SupplySensor(settings.supply, root: root, debounce: debounce)
        }
    }

    // MARK: After a restart

    /// Takes up what was last known.
    ///
    /// - Parameters:
    ///   - lastStored: the time of the newest location, if it is known.
    ///   - tracking: as it is now.
    ///   - stored: the newest event of a kind: one that the file does not know of was stored just before the end.
    func resume(
        lastStored: Timestamp?, tracking: Ignition.Tracking, now: BootInstant,
        stored: (VehicleEvent.Kind) -> VehicleEvent?
    ) -> [Consequence] {
        kept = hub.content(
            of: hub.files.read(StoredVehicle.self), otherwise: "ignition and external power count as unknown")
        latest = kept?.events ?? [:]
        if kept == nil {
            // Events of before say nothing of what the file would have said.
            for event in [stored(.ignition), stored(.power)] {
                if let event { note(event.id, of: event.happening.kind) }
            }
        }
        if !settings.supply.isEmpty {
            let isSame = kept?.supply == settings.supply
            power = ExternalPower(isPresent: isSame ? kept?.isPowered : nil)
            if isSame, let event = unnoted(stored(.power)) {
                power = ExternalPower(isPresent: event.happening == .powerBack)
            }
        }
        guard settings.ignition != .none else { return [] }
        var memory = kept?.ignition == settings.ignition.rawValue ? kept.flatMap { recalled($0) } : nil
        if memory != nil, let event = unnoted(stored(.ignition)) {
            memory?.isOn = event.happening == .ignitionOn
        }
        var new = Ignition(memory, policy: settings.policy, boot: boot)
        var actions = new.start(lastStored: lastStored)
        // What was said by hand in this boot still holds, and nobody will say it again.
        if settings.ignition == .manual, let isOn = new.memory.isOn {
            actions += new.observe(.init(isOn: isOn, at: now), anchor: nil, tracking: tracking)
        }
        ignition = new
        return actions.map { .ignition($0) }
    }

    private func recalled(_ found: StoredVehicle) -> Ignition.Memory? {
        BootID(found.boot).map { Ignition.Memory(isOn: found.isOn, boot: $0) }
    }

    /// The event, if it was stored and the daemon ended before it was noted.
    private func unnoted(_ event: VehicleEvent?) -> VehicleEvent? {
        guard let event, event.id.description > latest[event.happening.kind.rawValue] ?? "" else {
            return nil
        }
        note(event.id, of: event.happening.kind)
        return event
    }

    /// An event has been recorded.
    func note(_ id: UUIDv7, of kind: VehicleEvent.Kind) { latest[kind.rawValue] = id.description }

    // MARK: Work

    /// The thread is to be woken when one of its levels may have changed.
    func add(to rest: inout Rest) {
        switch levels.gpio {
        case .some(let gpio): rest.add(gpio.descriptor)
        case nil: break
        }
        switch levels.supply {
        case .some(let supply): rest.add(supply.descriptor)
        case nil: break
        }
    }

    /// When `run` next has something to do, if nothing arrives before.
    var deadline: BootInstant? {
        // A sensor without one has not been looked at yet.
        let first = BootInstant(nanoseconds: 0)
        var deadlines = [ignition?.deadline, writeAt, postponed?.at]
        switch levels.gpio {
        case .some(let gpio): deadlines.append(gpio.deadline ?? first)
        case nil: break
        }
        switch levels.supply {
        case .some(let supply): deadlines.append(supply.deadline ?? first)
        case nil: break
        }
        return deadlines.compactMap(\.self).min()
    }

    /// Does whatever is due.
    ///
    /// - Parameters:
    ///   - monotonic: CLOCK_MONOTONIC in nanoseconds, of the same moment as `now`.
    ///   - anchor: nil while no time can be trusted.
    ///   - tracking: as it is now.
    func run(
        now: BootInstant, monotonic: Int64, anchor: @autoclosure () -> EventTime.Anchor?,
        tracking: @autoclosure () -> Ignition.Tracking
    ) -> [Consequence] {
        var found: [Consequence] = []
        if let events = levels.gpio?.run(now: now, monotonic: monotonic) {
            for event in events { found += follow(event, of: .gpio, anchor(), tracking()) }
        }
        if let events = levels.supply?.run(now: now) {
            for event in events { found += follow(event, of: .powerSupply, anchor(), tracking()) }
        }
        found += (ignition?.expire(now: now) ?? []).map { .ignition($0) }
        if let wish = postponed, wish.at <= now {
            postponed = nil
            found.append(.ignition(wish.isStart ? .start : .stop))
        }
        return found
    }

    private func follow(
        _ event: SensorEvent, of source: Settings.IgnitionSource, _ anchor: EventTime.Anchor?,
        _ tracking: Ignition.Tracking
    ) -> [Consequence] {
        switch event {
        case .level(let edge):
            note(nil, of: source)
            var found: [Consequence] = []
            if source == .powerSupply, let told = power?.observe(edge, boot: boot, anchor: anchor) {
                found.append(.power(told, supply: settings.supply))
            }
            guard settings.ignition == source else { return found }
            return found + observe(edge, anchor, tracking)
        case .lost(let reason):
            note(reason, of: source)
            if settings.ignition == source { ignition?.lose() }
            return []
        }
    }

    private func observe(
        _ edge: LevelDebounce.Edge, _ anchor: EventTime.Anchor?, _ tracking: Ignition.Tracking
    ) -> [Consequence] {
        let actions = ignition?.observe(edge, anchor: anchor, tracking: tracking) ?? []
        // A newer edge has its own wish.
        if !actions.isEmpty { postponed = nil }
        // What happens at this edge belongs to the session that begins with it.
        let isStart = { (action: Ignition.Action) in action == .start }
        return (actions.filter(isStart) + actions.filter { !isStart($0) }).map { .ignition($0) }
    }

    private func note(_ reason: String?, of source: Settings.IgnitionSource) {
        let what = source == .gpio ? "the ignition" : "external power"
        let before = source == .gpio ? levels.gpioTrouble : levels.supplyTrouble
        if source == .gpio { levels.gpioTrouble = reason } else { levels.supplyTrouble = reason }
        if let reason {
            Log.warning(.sensorChanged, "\(what) cannot be read, and counts as unknown: \(reason)")
        } else if before != nil {
            Log.notice(.sensorChanged, "\(what) can be read again")
        }
    }

    // MARK: Where it stands

    /// The ignition has been switched off while something is tracked.
    func expectLastPlace(now: BootInstant) { lastPlace.expect(now: now) }

    /// The ignition has been switched on.
    func forgetLastPlace() { lastPlace = LastPlace() }

    /// The next settled fix has been decided on.
    func decided(_ location: Location?, now: BootInstant) { lastPlace.decided(location?.id, now: now) }

    /// Whether the place where it stands, with its ignition off, is among what has been stored.
    func hasLastPlace(in stored: [Location]) -> Bool { lastPlace.isAmong(stored: stored.lazy.map(\.id)) }

    // MARK: What others say

    /// Somebody says whether the ignition is on.
    ///
    /// - Throws: when that is not how it is known.
    func set(
        _ isOn: Bool, now: BootInstant, anchor: EventTime.Anchor?, tracking: Ignition.Tracking
    ) throws(CommandFailure) -> [Consequence] {
        try Self.check(settings)
        return observe(LevelDebounce.Edge(isOn: isOn, at: now), anchor, tracking)
    }

    /// - Throws: unless the ignition is set by hand.
    static func check(_ settings: Settings.Vehicle) throws(CommandFailure) {
        guard settings.ignition == .manual else {
            throw CommandFailure(
                kind: .setting(key: "vehicle.ignition"),
                reason:
                    "is \"\(settings.ignition.rawValue)\"; only with \"manual\" can the ignition be set by hand"
            )
        }
    }

    /// Somebody else's wish has been taken: it is newer than the edge whose stop was pending.
    func overrule() {
        ignition?.overrule()
        postponed = nil
    }

    /// A wish of the ignition's could not be written.
    func postpone(start isStart: Bool, now: BootInstant) {
        postponed = (isStart, now.advanced(bySeconds: Self.patience))
    }

    /// Takes up settings that change no source.
    ///
    /// - Returns: false when they do: then another keeper is needed.
    func configure(_ new: Settings.Vehicle) -> Bool {
        guard new.ignition == settings.ignition, new.supply == settings.supply, new.gpio == settings.gpio
        else { return false }
        settings = new
        ignition?.policy = new.policy
        levels.gpio?.setDebounce(new.ignitionDebounceSeconds)
        levels.supply?.setDebounce(new.ignitionDebounceSeconds)
        return true
    }

    // MARK: What is remembered

    /// Writes what has changed: after its events, so that none is lost.
    ///
    /// - Parameter isAsked: somebody waits for it: a failure just now is no reason not to try.
    /// - Throws: when it cannot be written; it is tried again.
    func keep(isAsked: Bool = false, now: BootInstant) throws(CommandFailure) {
        if let writeAt, now < writeAt, !isAsked { return }
        var memory = StoredVehicle(
            ignition: settings.ignition.rawValue, isOn: ignition?.memory.isOn,
            boot: (ignition?.memory.boot ?? boot).text, supply: settings.supply, isPowered: power?.isPresent)
        memory.events = latest
        writeAt = nil
        guard memory != kept else { return }
        do {
            try hub.makingRoom { () throws(SystemError) in try hub.files.write(memory) }
            // That it was damaged is shown until there is something to be remembered again.
            if memory.isOn != nil || memory.isPowered != nil {
                hub.board.note(renewed: SmallFiles.Name.vehicle)
            }
            kept = memory
        } catch {
            writeAt = now.advanced(bySeconds: Self.patience)
            throw CommandFailure(reason: "the level of the ignition could not be written: \(error)")
        }
    }

    // MARK: What others see

    var report: VehicleReport {
        VehicleReport(
            source: settings.ignition, isOn: ignition?.level,
            hasPower: settings.supply.isEmpty || levels.supplyTrouble != nil ? nil : power?.isPresent,
            trouble: levels.gpioTrouble ?? levels.supplyTrouble)
    }
}

/// What the vehicle says, for the status.
struct VehicleReport: Equatable, Sendable {
    /// Where the ignition is known from.
    var source: Settings.IgnitionSource
    /// nil while it is not known.
    var isOn: Bool?
    /// External power; nil while it is not known, and where none is configured.
    var hasPower: Bool?
    /// Why a level cannot be read, and what to do.
    var trouble: String?
}

extension Settings.Vehicle {
    /// A level is configured.
    var hasLevels: Bool { ignition != .none || !supply.isEmpty }

    fileprivate var policy: Ignition.Policy {
        Ignition.Policy(
            tracks: onIgnition == .track, offDelay: ignitionOffDelaySeconds, isManual: ignition == .manual)
    }
}

extension Settings.GPIO {
    fileprivate var place: GPIOSensor.Place {
        GPIOSensor.Place(chip: chip, line: UInt32(clamping: line), isActiveLow: activeLow)
    }
}
