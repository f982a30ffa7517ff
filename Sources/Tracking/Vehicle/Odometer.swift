package import Base

/// Metres driven since installation. Pure: no clock, no I/O.
///
/// Between consecutive fixes that report speed it is mean speed × time: the Doppler speed of a receiver is far steadier
/// than its position, whose noise adds up. Where that cannot be had (a tunnel, a restart, no speeds) it is the straight
/// line from the last position counted, once the vehicle is further from there than noise; from the first position after
/// the gap on, speeds count again.
///
/// It counts only while the vehicle moves by itself: motion is `moving` and, where that is known, the ignition is on. A
/// ferry and a tow truck move it otherwise. Movement is established a few fixes after it began; the metres since the
/// vehicle last stood are added then.
package struct Odometer: Sendable {
    /// What must survive a restart: to be stored with each row, and in a small file.
    package struct Memory: Equatable, Sendable {
        /// ≥ 0; never less than before, but by `set`.
        package var metres: Double
        /// How often the odometer has been set. A value from before does not count, however large.
        package var settings: Int
        /// The last position counted; nil where the next one does not continue it.
        package var place: Place?

        /// The default values are those of a new installation.
        package init(metres: Double = 0, settings: Int = 0, place: Place? = nil) {
            self.metres = metres.isFinite ? max(metres, 0) : 0
            self.settings = settings
            self.place = place
        }

        /// What to go on with at a start: of row and file the one set later, else the larger. Rows have whole metres; of the
        /// same, a file that has forgotten the place is the later one.
        package static func latest(_ row: Memory?, _ file: Memory?) -> Memory {
            guard let row, let file else { return row ?? file ?? Memory() }
            if row.settings == file.settings, row.wholeMetres == file.wholeMetres, file.place == nil {
                return file
            }
            return (row.settings, row.metres) >= (file.settings, file.metres) ? row : file
        }

        /// What is stored with rows and told: it never goes back either.
        package var wholeMetres: Int64 { Int64(exactly: min(metres, Odometer.longest).rounded()) ?? 0 }
    }

    /// A position, and its fix time.
    package struct Place: Equatable, Sendable {
        package var time: Timestamp
        package var coordinate: Coordinate

        package init(time: Timestamp, coordinate: Coordinate) {
            self.time = time
            self.coordinate = coordinate
        }
    }

    /// Metres; nothing has driven this far.
    package static let longest = 1e12
    /// Seconds; fixes further apart are not joined by their speeds.
    package static let longestStep = 3.0
    /// Metres per second; where both ends of a step are slower the vehicle stands.
    package static let stillSpeed = 0.5
    /// Metres; shorter straight lines are not counted, nor are those up to twice the accuracy.
    package static let shortestLine = 25.0
    /// Metres per second squared; no road vehicle accelerates or brakes for long by more.
    static let mostAcceleration = 4.0
    /// Seconds; a departure that takes longer to be established is not added.
    static let longestDeparture = 60.0
    /// Metres; what gets less far, and is not faster than 1 m/s, has not departed.
    static let shortestDeparture = 3.0
    /// Seconds between two writes of the small file while driving.
    package static let worthKeeping = 3600.0

    /// What lies between the last position counted and the last fix, and is not counted yet.
    private struct Gap: Sendable {
        /// The first position that speeds join to the last fix.
        var end: Coordinate
        /// Metres up to there that the speeds before and after allow.
        var most: Double
        /// Metres from there on, by speeds.
        var beyond = 0.0
    }

    /// To be stored.
    package private(set) var memory: Memory
    /// Metres per second; what is faster is no movement: the setting of `implausible_speed`.
    package var fastest: Double

    private var last: (time: Timestamp, speed: Double?)?
    /// nil while all up to the last fix is counted.
    private var gap: Gap?
    /// The vehicle has departed since it last stood.
    private var isRolling = false
    /// Since it last stood, while a departure is not established.
    private var departure = (metres: 0.0, seconds: 0.0)
    private var kept: (memory: Memory, now: BootInstant)?

    /// - Parameters:
    ///   - memory: as of `Memory.latest`.
    ///   - fastest: metres per second.
    package init(_ memory: Memory = Memory(), fastest: Double = 100) {
        self.memory = memory
        self.fastest = fastest
    }

    package var metres: Double { memory.metres }

    /// Processes the next settled fix.
    ///
    /// - Parameter ignition: whether it is on; nil where none is configured, or its state is unknown: then motion alone
    ///   decides.
    package mutating func observe(_ observed: Admission.Observation, ignition: Bool?) {
        guard ignition != false else { return forgetPlace() }
        // The jump of a reflected signal is no movement, and the way back is none either.
        guard observed.quality != .implausibleSpeed else { return }
        let fix = observed.fix
        let speed = fix.speed.flatMap { $0 <= fastest ? $0 : nil }
        let isMoving = observed.motion == .moving
        defer { last = (fix.time, speed) }
        guard let place = memory.place, fix.time >= place.time else { return count(0, upTo: fix) }
        let step = step(to: fix.time, speed)
        if gap == nil, let step {
            countStep(
                step, seconds: last.map { fix.time.seconds(since: $0.time) } ?? 0, speed ?? 0, isMoving)
            return count(0, upTo: fix)
        }
        isRolling = false
        departure = (0, 0)
        if isMoving, let step, gap != nil {
            gap?.beyond += step
        } else {
            gap = Gap(end: fix.coordinate, most: mostMetres(to: fix.time, speed))
        }
        if isMoving { countLine(from: place, upTo: fix) }
    }

    /// Metres that can have been driven since the last fix; without end where speeds do not tell.
    private func mostMetres(to time: Timestamp, _ speed: Double?) -> Double {
        guard gap == nil, let last, let before = last.speed, let speed else { return .infinity }
        let seconds = time.seconds(since: last.time)
        return (before + speed) / 2 * seconds + Self.mostAcceleration / 4 * seconds * seconds
    }

    /// Metres from the last fix to this one by their speeds; nil where they do not tell.
    private func step(to time: Timestamp, _ speed: Double?) -> Double? {
        guard let last, let before = last.speed, let speed else { return nil }
        let seconds = time.seconds(since: last.time)
        guard seconds >= 0, seconds <= Self.longestStep else { return nil }
        return max(before, speed) < Self.stillSpeed ? 0 : (before + speed) / 2 * seconds
    }

    /// A stand whose speeds flicker is told from a departure by how far it gets.
    private mutating func countStep(_ metres: Double, seconds: Double, _ speed: Double, _ isMoving: Bool) {
        guard metres > 0 else {
            isRolling = false
            departure = (0, 0)
            return
        }
        departure.metres += metres
        departure.seconds += seconds
        // A receiver that reports speeds while it stands must not collect a way over the night.
        if !isMoving, departure.seconds > Self.longestDeparture { departure = (0, .infinity) }
        isRolling =
            isMoving && (isRolling || speed >= Motion.slowSpeed || departure.metres >= Self.shortestDeparture)
        guard isRolling else { return }
        memory.metres += departure.metres
        departure = (0, 0)
    }

    private mutating func countLine(from place: Place, upTo fix: Fix) {
        guard var gap else { return }
        let noise = max(Self.shortestLine, 2 * (fix.accuracy ?? Motion.assumedAccuracy))
        var line = place.coordinate.distance(to: gap.end)
        if line > gap.most + noise {
            // A reflected signal was the first that was received: the next one is the end.
            gap = Gap(end: fix.coordinate, most: gap.most + gap.beyond)
            line = place.coordinate.distance(to: gap.end)
            self.gap = gap
        }
        let reached = place.coordinate.distance(to: fix.coordinate)
        guard reached > noise, reached <= fastest * fix.time.seconds(since: place.time),
            line <= gap.most + noise
        else { return }
        // A short line says as much of noise as of the way. By how much it is further from its one end than from the other,
        // noise makes more as often as less.
        let further = max(reached - gap.end.distance(to: fix.coordinate), 0)
        count((line > noise ? line : further) + gap.beyond, upTo: fix)
    }

    private mutating func count(_ metres: Double, upTo fix: Fix) {
        memory.metres += metres
        memory.place = Place(time: fix.time, coordinate: fix.coordinate)
        gap = nil
    }

    /// The next position does not continue the last one: fixes are read no more, the ignition has been switched off, or
    /// the user deletes positions.
    package mutating func forgetPlace() {
        memory.place = nil
        last = nil
        gap = nil
        isRolling = false
        departure = (0, 0)
    }

    /// Sets it, forwards or backwards: the vehicle's own odometer says so.
    ///
    /// - Parameter metres: ≥ 0.
    package mutating func set(metres: Double) {
        memory = Memory(metres: metres, settings: memory.settings + 1, place: memory.place)
    }
}

/// When the small file is written. Rows carry it too, but a row waits for its COMMIT, and none comes while parked.
extension Odometer {
    /// What is to be written now; nil when that can wait.
    ///
    /// - Parameter isAtStop: the vehicle has come to a stop, the ignition was switched off, fixes are read no more, or
    ///   the daemon ends.
    package func due(isAtStop: Bool, now: BootInstant) -> Memory? {
        guard let kept else { return memory.metres > 0 || memory.settings > 0 ? memory : nil }
        let isOld = now.seconds(since: kept.now) >= Self.worthKeeping
        let isOther = kept.memory.metres != memory.metres || kept.memory.settings != memory.settings
        let hasForgotten = kept.memory.place != nil && memory.place == nil
        return (isAtStop || isOld) && isOther || hasForgotten ? memory : nil
    }

    /// The position that was written last.
    package var keptPlace: Place? { kept?.memory.place }

    /// What has been written may be gone.
    package mutating func forgetKept() { kept = nil }

    /// Records that it has been written.
    package mutating func keep(_ memory: Memory, now: BootInstant) {
        kept = (memory, now)
    }
}
