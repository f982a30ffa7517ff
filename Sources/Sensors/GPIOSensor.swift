package import Base
import Glibc
package import Linux
internal import Tracking

/// The level of a GPIO line. The kernel filters bounce of the contact and keeps the edges while this thread is busy; a new
/// level counts once it has held.
///
/// It never blocks, and has neither thread nor clock: the loop that owns it calls `run` whenever the descriptor is ready or
/// the deadline has passed.
package struct GPIOSensor: ~Copyable {
    /// Which line it is.
    package struct Place: Equatable, Sendable {
        /// Path of the chip's device.
        package var chip: String
        /// Number on the chip, from 0.
        package var line: UInt32
        /// Low is on.
        package var isActiveLow: Bool

        package init(chip: String, line: UInt32, isActiveLow: Bool) {
            self.chip = chip
            self.line = line
            self.isActiveLow = isActiveLow
        }
    }

    /// Requests a line; the second value is how long the kernel ignores bounce, in microseconds.
    package typealias Opener = (Place, UInt32) throws(SystemError) -> GPIOInput

    /// Seconds of the kernel's own filter at most: a contact bounces for so long, and whatever is shorter than the rest is
    /// for `LevelDebounce` to judge, which knows about edges that went missing.
    static let kernelDebounce = 0.01
    /// Edges in one call; the rest is read in the next.
    private static let round = 4096

    private let place: Place
    private let open: Opener
    private var input: GPIOInput?
    private var follower = GPIOLine()
    private var debounce: LevelDebounce
    /// When to try again, or to look whether the level is what it is taken for.
    private var lookAt: BootInstant?
    private var pause = Patience.first
    private var trouble: String?

    /// - Parameters:
    ///   - seconds: how long a new level must hold.
    ///   - open: for tests.
    package init(
        _ place: Place, debounce seconds: Double,
        open: @escaping Opener = { (place, debounce) throws(SystemError) in
            try GPIOInput(
                chip: place.chip, line: place.line, isActiveLow: place.isActiveLow, debounce: debounce)
        }
    ) {
        self.place = place
        self.open = open
        debounce = LevelDebounce(seconds: seconds)
    }

    /// −1 while the line cannot be read.
    package var descriptor: Int32 {
        switch input {
        case .some(let input): input.raw
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
    ///
    /// - Parameter monotonic: CLOCK_MONOTONIC in nanoseconds, of the same moment as `now`.
    package mutating func run(now: BootInstant, monotonic: Int64) -> [SensorEvent] {
        do throws(SystemError) {
            if input == nil {
                guard lookAt.map({ $0 <= now }) ?? true else { return [] }
                return try begin(now: now)
            }
            return try follow(now: now, monotonic: monotonic)
        } catch {
            return lose(error, now: now)
        }
    }

    private mutating func begin(now: BootInstant) throws(SystemError) -> [SensorEvent] {
        let seconds = min(debounce.seconds, Self.kernelDebounce)
        let opened = try open(place, UInt32(seconds * 1_000_000))
        follower = GPIOLine()
        let level = try opened.level()
        follower.reset(to: level)
        input = consume opened
        (pause, trouble) = (Patience.first, nil)
        lookAt = now.advanced(bySeconds: Patience.longest)
        return debounce.take(level, now: now).map { [.level($0)] } ?? []
    }

    private mutating func follow(now: BootInstant, monotonic: Int64) throws(SystemError) -> [SensorEvent] {
        var events: [SensorEvent] = []
        var isMissing = false
        var count = 0
        while count < Self.round {
            let edges = try edges()
            if edges.isEmpty { break }
            count += edges.count
            for edge in edges {
                switch follower.edge(isRising: edge.isRising, sequence: edge.sequence) {
                case .level(let isOn):
                    guard !isMissing else { continue }
                    let age = Double(max(monotonic - edge.at, 0)) / 1_000_000_000
                    let told = debounce.take(isOn, now: now.advanced(bySeconds: -age))
                    if let told { events.append(.level(told)) }
                case .readAgain:
                    // What the rest of them says is old: the level decides, never a count of edges.
                    debounce.interrupt()
                    isMissing = true
                }
            }
        }
        if isMissing || lookAt.map({ $0 <= now }) ?? true {
            let level = try level()
            follower.reset(to: level)
            lookAt = now.advanced(bySeconds: Patience.longest)
            if let told = debounce.take(level, now: now) { events.append(.level(told)) }
        }
        if let told = debounce.expire(now: now) { events.append(.level(told)) }
        return events
    }

    private func edges() throws(SystemError) -> [GPIOInput.Edge] {
        switch input {
        case .some(let input): try input.edges()
        case nil: []
        }
    }

    private func level() throws(SystemError) -> Bool {
        switch input {
        case .some(let input): try input.level()
        case nil: throw SystemError("read line", code: ENODEV)
        }
    }

    private mutating func lose(_ error: SystemError, now: BootInstant) -> [SensorEvent] {
        input = nil
        debounce.lose()
        lookAt = now.advanced(bySeconds: pause)
        pause = min(pause * 2, Patience.longest)
        let found = advice(on: error)
        guard found != trouble else { return [] }
        trouble = found
        return [.lost(found)]
    }

    /// What is wrong, and what to do.
    private func advice(on error: SystemError) -> String {
        let remedy =
            switch error.code {
            case ENOENT, ENODEV:
                "there is no such chip: check vehicle.gpio_chip (gpiodetect lists them), and that the service is given it "
                    + "(BindPaths=-\(place.chip)); after replugging it, restart beekond"
            case EACCES, EPERM:
                "give beekond the right to use it: DeviceAllow=\(place.chip) and the group of the device"
            case ENOTTY: "it is no GPIO chip: check vehicle.gpio_chip (gpiodetect lists them)"
            case ERANGE: "the chip has no such line: check vehicle.gpio_line (gpioinfo lists them)"
            case EBUSY: "somebody else uses it: gpioinfo says who"
            case ENXIO, EIO, ENOTSUP:
                "it cannot report edges: choose a line that can raise interrupts"
            default: "check vehicle.gpio_chip and vehicle.gpio_line"
            }
        let reason = [ENOTTY, ERANGE].contains(error.code) ? error.operation : "\(error)"
        return "\(reason); \(remedy)"
    }
}
