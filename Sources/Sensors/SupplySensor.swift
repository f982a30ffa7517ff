package import Base
import Glibc
package import Linux
internal import Tracking

/// Whether there is external power: `online` of a name in `/sys/class/power_supply`, read whenever the kernel says that
/// something about it has changed. A new level counts once it has held.
///
/// It never blocks, and has neither thread nor clock: the loop that owns it calls `run` whenever the descriptor is ready or
/// the deadline has passed.
package struct SupplySensor: ~Copyable {
    /// Hears what the kernel says.
    package typealias Opener = () throws(SystemError) -> DeviceMonitor

    private let name: String
    private let folder: String
    private let open: Opener
    private var monitor: DeviceMonitor?
    private var debounce: LevelDebounce
    /// When to look, whatever the kernel says.
    private var lookAt: BootInstant?
    private var trouble: String?

    /// - Parameters:
    ///   - name: without a slash.
    ///   - root: replaces / in tests.
    ///   - seconds: how long a new level must hold.
    ///   - open: for tests.
    package init(
        _ name: String, root: String = "", debounce seconds: Double,
        open: @escaping Opener = { () throws(SystemError) in try DeviceMonitor() }
    ) {
        self.name = name
        self.open = open
        folder = root + "/sys/class/power_supply"
        debounce = LevelDebounce(seconds: seconds)
    }

    /// −1 while the kernel is not heard.
    package var descriptor: Int32 {
        switch monitor {
        case .some(let monitor): monitor.raw
        case nil: -1
        }
    }

    /// When `run` next has something to do, if nothing arrives before; nil: at once.
    package var deadline: BootInstant? {
        lookAt.map { min($0, debounce.deadline ?? $0) }
    }

    /// How long a new level must hold, in seconds.
    package mutating func setDebounce(_ seconds: Double) { debounce.seconds = seconds }

    /// Does whatever is due.
    package mutating func run(now: BootInstant) -> [SensorEvent] {
        do throws(SystemError) {
            var mustLook = lookAt.map { $0 <= now } ?? true
            // Before the level is read, so that no change falls between.
            if monitor == nil, mustLook { monitor = try open() }
            if hasNews() { mustLook = true }
            var events: [SensorEvent] = []
            if mustLook {
                lookAt = now.advanced(bySeconds: Patience.longest)
                let told = debounce.take(try level(), now: now)
                trouble = nil
                if let told { events.append(.level(told)) }
            }
            if let told = debounce.expire(now: now) { events.append(.level(told)) }
            return events
        } catch {
            return lose(error, now: now)
        }
    }

    /// Whether the kernel has said something about it, or more than could be heard.
    private func hasNews() -> Bool {
        let events =
            switch monitor {
            case .some(let monitor): monitor.receive()
            case nil: [] as [DeviceMonitor.Event?]
            }
        return events.contains { $0?.path.hasSuffix("/power_supply/\(name)") ?? true }
    }

    /// A number: 0 is off, 1 on, 2 on at a voltage that has been asked for.
    private func level() throws(SystemError) -> Bool {
        let path = "\(folder)/\(name)/online"
        let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
        let text = String(decoding: try file.read(upTo: 32) ?? [], as: UTF8.self)
        guard let number = Int(text.prefix { $0 != "\n" }) else {
            throw SystemError("read " + path, code: EINVAL)
        }
        return number != 0
    }

    private mutating func lose(_ error: SystemError, now: BootInstant) -> [SensorEvent] {
        debounce.lose()
        lookAt = now.advanced(bySeconds: Patience.longest)
        let found = advice(on: error)
        guard found != trouble else { return [] }
        trouble = found
        return [.lost(found)]
    }

    /// What is wrong, and what to do.
    private func advice(on error: SystemError) -> String {
        guard error.operation.contains("/online") else {
            return "\(error); beekond looks every minute instead"
        }
        if access("\(folder)/\(name)", F_OK) != 0 {
            return "there is no power supply \(name): \(folder) lists them; check vehicle.supply"
        }
        return error.code == ENOENT
            ? "the power supply \(name) does not say whether it is online, as batteries do not: choose another as vehicle.supply"
            : "\(error); check vehicle.supply"
    }
}
