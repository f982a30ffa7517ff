internal import Base
internal import Simulation
internal import Upload

/// What one vehicle of the fleet is like. Drawn once; docs/fleet.md has the shares.
package struct Habits: Sendable {
    /// A drive that comes every day: seconds since midnight. `end` may lie on the next day.
    package struct Shift: Equatable, Sendable {
        package var start: Int32
        package var end: Int32
    }

    /// None, one or two, in order, apart from each other.
    package private(set) var shifts: [Shift]
    /// The computer has power while the vehicle is parked, too.
    package private(set) var isAlwaysOn: Bool
    /// Seconds between uploads.
    package private(set) var interval: Double
    /// Which road it drives.
    private(set) var road: Int
    /// Seconds: how long a packet takes to the server, and an answer back.
    private(set) var latency: Double
    /// Bytes a second, to the server.
    private(set) var bandwidth: Double

    static let day = 86_400
    /// Seconds between heartbeats, as with commands enabled.
    static let heartbeat = 3600.0

    /// Draws a vehicle.
    init(roads: Int, using random: inout SplitMix64) {
        shifts = Self.shifts(using: &random)
        isAlwaysOn = random.chance(0.6)
        let share = random.unit()
        interval = share < 0.8 ? 300 : share < 0.88 ? 120 : share < 0.92 ? 60 : 600
        road = Int(random.unit() * Double(roads))
        latency = random.uniform(0.03...0.25)
        bandwidth = random.uniform(20_000...500_000)
    }

    var rules: DrainRules { DrainRules(interval: interval, heartbeat: Self.heartbeat) }

    /// Shifts begin around whole half hours, as people do, with a spread of some minutes.
    private static func shifts(using random: inout SplitMix64) -> [Shift] {
        let share = random.unit()
        func shift(from first: Double, to last: Double, hours: ClosedRange<Double>) -> Shift {
            let halfHour = (random.uniform(first...last) * 2).rounded() * 1800
            let start = max(halfHour + 600 * random.gaussian(), 0)
            return Shift(start: Int32(start), end: Int32(start + random.uniform(hours) * 3600))
        }
        // With a break at noon.
        if share < 0.6 {
            let morning = shift(from: 5.5, to: 9, hours: 3.5...4.5)
            let rest = Int32(random.uniform(1800...3600))
            let end = morning.end + rest + Int32(random.uniform(3.5...4.5) * 3600)
            return [morning, Shift(start: morning.end + rest, end: end)]
        }
        if share < 0.75 { return [shift(from: 12, to: 15, hours: 7...9)] }
        if share < 0.85 { return [shift(from: 17, to: 21, hours: 8...11)] }
        if share < 0.95 {
            let first = shift(from: 7, to: 11, hours: 0.3...1.5)
            return [first, shift(from: 14, to: 20, hours: 0.3...1.5)]
        }
        return []
    }

    /// Whether it is driving at this moment, and seconds until that changes; nil: never.
    ///
    /// - Parameter time: seconds since a midnight; 0 or more.
    package func drives(at time: Double) -> (isDriving: Bool, changesIn: Double?) {
        guard !shifts.isEmpty else { return (false, nil) }
        let now = time.truncatingRemainder(dividingBy: Double(Self.day))
        var next = Double.infinity
        for shift in shifts {
            // Of yesterday, of today, of tomorrow.
            for midnight in [-Double(Self.day), 0, Double(Self.day)] {
                let (start, end) = (midnight + Double(shift.start), midnight + Double(shift.end))
                if start <= now, now < end { return (true, end - now) }
                if start > now { next = min(next, start - now) }
            }
        }
        return (false, next)
    }
}
