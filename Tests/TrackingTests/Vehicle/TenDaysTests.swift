import Base
import Simulation
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// One fix of ten days, with all that trips are made of.
private struct Entry {
    var observed: Admission.Observation
    var odometer: Double
    var ignition: Bool?
    /// The machine was off before this fix.
    var isNewBoot: Bool
    var second: Double { observed.fix.time.seconds(since: Timestamp(milliseconds: start)) }
}

/// A trip as it truly was.
private struct TrueTrip {
    var start: Double
    var end: Double
    var metres: Double
    var standing: Double
}

/// Ten days of a car: drives with lights and short stops, stays long and short, nights, cellars without reception,
/// tunnels, power cuts.
private struct Life {
    var entries: [Entry] = []
    var trips: [TrueTrip] = []
    private var random: SplitMix64
    private var receiver: NoisyReceiver
    private var admission = Admission(
        thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100)))
    private var odometer = Odometer()
    private let hasIgnition: Bool
    private var isOn = false
    private var isNewBoot = false
    private var second = 0.0
    private var north = 0.0
    private var speed = 0.0
    private var metres = 0.0

    init(days: Int, hasIgnition: Bool, seed: UInt64) {
        self.hasIgnition = hasIgnition
        random = SplitMix64(seed: seed)
        receiver = NoisyReceiver(.suburb, seed: seed)
        stand(1800, every: 10)
        for _ in 0..<days {
            for _ in 0..<Int(random.uniform(3...6)) {
                trip()
                stand(random.uniform(400...9000), every: random.chance(0.3) ? 0 : 5)
            }
            stand(30_000 + random.uniform(0...9000), every: random.chance(0.3) ? 0 : 10)
        }
    }

    private mutating func trip() {
        isOn = true
        let (begin, from) = (second, metres)
        var standing = 0.0
        for leg in 0..<Int(random.uniform(2...12)) {
            if leg > 0 {
                // A light, or a shop next door with the engine off.
                let isShop = random.chance(0.2)
                let seconds = isShop ? random.uniform(100...270) : random.uniform(5...80)
                isOn = !isShop
                stand(seconds, every: 1)
                isOn = true
                standing += isShop && hasIgnition ? 0 : seconds
            }
            drive(random.uniform(60...400), at: random.uniform(8...32), isSeen: !random.chance(0.05))
            if random.chance(0.03) {
                // A power cut while driving, ten minutes and more of it unseen: this trip ends here, and another begins.
                trips.append(TrueTrip(start: begin, end: second, metres: metres - from, standing: standing))
                for _ in 0..<Int(random.uniform(600...1500)) { step(speed: 20, isSeen: false) }
                while speed > 0 { step(speed: 0, isSeen: false) }
                isOn = false
                isNewBoot = true
                return
            }
        }
        stop()
        trips.append(TrueTrip(start: begin, end: second, metres: metres - from, standing: standing))
        isOn = false
    }

    private mutating func stop() {
        while speed > 0 { step(speed: 0, isSeen: true) }
        isOn = false
    }

    private mutating func drive(_ seconds: Double, at wanted: Double, isSeen: Bool) {
        for _ in 0..<Int(seconds) { step(speed: wanted, isSeen: isSeen || speed < 5) }
        while speed > 0 { step(speed: 0, isSeen: true) }
    }

    private mutating func step(speed wanted: Double, isSeen: Bool) {
        second += 1
        let before = speed
        speed += min(max(wanted - speed, -2), 2)
        north += (before + speed) / 2
        metres += (before + speed) / 2
        if isSeen { fix() }
    }

    private mutating func stand(_ seconds: Double, every: Int) {
        for elapsed in 1...Int(seconds) {
            second += 1
            // Above ground for the first and last minute of a stay in a cellar.
            let isEdge = elapsed < 5 || elapsed > Int(seconds) - 5
            if every > 0 ? elapsed % every == 0 : isEdge { fix() }
        }
    }

    private mutating func fix() {
        let fix = receiver.fix(at: second, north: north, east: 0, speed: speed)
        if isNewBoot {
            admission = Admission(thresholds: admission.thresholds, memory: admission.memory)
            odometer = Odometer(odometer.memory)
        }
        let observed = admission.observe(fix)
        let ignition = hasIgnition ? isOn : nil
        odometer.observe(observed, ignition: ignition)
        entries.append(
            Entry(observed: observed, odometer: odometer.metres, ignition: ignition, isNewBoot: isNewBoot))
        isNewBoot = false
    }
}

/// Trips read from the whole record at once, backwards and forwards: rests first, then what is between them.
private func reading(_ entries: [Entry]) -> [Trip] {
    var trips: [Trip] = []
    var rest = -1
    var index = 0
    func isAtRest(_ entry: Entry) -> Bool {
        entry.ignition.map { !$0 } ?? (entry.observed.motion == .stationary)
    }
    func isStill(_ entry: Entry) -> Bool { (entry.observed.fix.speed ?? 0) < 0.5 }
    while index < entries.count {
        guard !isAtRest(entries[index]),
            entries[index].ignition == true
                || entries[index].observed.motion == .moving && !isStill(entries[index])
        else {
            index += 1
            continue
        }
        var first = index
        // It set off after it was last still.
        if entries[index].ignition == nil {
            rest = (0..<index).last { isStill(entries[$0]) } ?? -1
            if rest >= 0, entries[index].second - entries[rest].second <= 60 { first = rest }
        }
        var end: (second: Double, last: Int, moved: Int)?
        var next = index + 1
        while next < entries.count, end == nil {
            let (entry, before) = (entries[next], entries[next - 1])
            let pause = entry.second - before.second
            let way = before.observed.fix.coordinate.distance(to: entry.observed.fix.coordinate)
            if entry.isNewBoot, !isAtRest(before) {
                end = (before.second, next - 1, next - 1)
            } else if isAtRest(before) {
                let restStart = (index..<next).last { !isAtRest(entries[$0]) }.map { $0 + 1 } ?? next
                var began = entries[restStart].second
                var moved = restStart
                if entry.ignition == nil {
                    moved = (first..<restStart).last { !isStill(entries[$0]) } ?? first
                    began = min(entries[moved].second, began - 120)
                }
                if entry.second - began >= 300 || entry.isNewBoot { end = (began, next - 1, moved) }
            } else if entry.ignition == nil, pause >= 300, way < pause {
                end = (before.second, next - 1, next - 1)
            }
            next += 1
        }
        guard let end else { break }
        let span = entries[first...end.moved]
        let speeds = span.filter { $0.observed.motion == .moving }.compactMap(\.observed.fix.speed)
        let idle = zip(span, span.dropFirst()).dropFirst(
            entries[index].ignition == nil && first != index ? index - first : 0
        )
        .filter { isStill($0) && isStill($1) && $1.ignition != false }
        .reduce(0) { $0 + $1.1.second - $1.0.second }
        trips.append(
            Trip(
                start: span.first?.observed.fix.time ?? Timestamp(milliseconds: 0),
                end: Timestamp(milliseconds: start).advanced(bySeconds: end.second), startPlace: nil,
                endPlace: nil,
                metres: entries[end.moved].odometer - entries[first].odometer, topSpeed: speeds.max(),
                idle: idle))
        index = end.last + 1
    }
    return trips
}

@Test("ten days: trips are those of an independent reading, and of the truth", arguments: [false, true])
private func tenDays(hasIgnition: Bool) throws {
    let seed = testSeed(37)
    let life = Life(days: 10, hasIgnition: hasIgnition, seed: seed)
    var trips = Trips()
    var found: [Trip] = []
    var started = 0
    func take(_ changes: [Trips.Change]) {
        for change in changes {
            switch change {
            case .started: started += 1
            case .ended(let trip): found.append(trip)
            }
        }
    }
    for (index, entry) in life.entries.enumerated() {
        if entry.isNewBoot {
            trips = Trips(trips.open)
            take(trips.start(isNewBoot: true))
        } else if index % 1000 == 999 {
            trips = Trips(trips.open)
            take(trips.start(isNewBoot: false))
        }
        take(trips.observe(entry.observed, odometer: entry.odometer, ignition: entry.ignition))
    }
    print(
        "ten days, ignition \(hasIgnition): \(life.entries.count) fixes, \(found.count) trips, \(life.trips.count) true"
    )
    #expect(started == found.count)
    let read = reading(life.entries)
    #expect(found.count == read.count, "seed \(seed)")
    for (trip, other) in zip(found, read) {
        #expect(abs(trip.start.seconds(since: other.start)) < 1.5, "seed \(seed)")
        #expect(abs(trip.end.seconds(since: other.end)) < 1.5, "seed \(seed)")
        #expect(abs(trip.metres - other.metres) < 1, "seed \(seed)")
        #expect(trip.topSpeed == other.topSpeed, "seed \(seed)")
        #expect(abs(trip.idle - other.idle) <= 5, "seed \(seed)")
    }
    // After a power cut the rest of the drive may be a trip of its own, of a few metres.
    let long = found.filter { $0.metres > 300 }
    #expect(long.count == life.trips.count, "seed \(seed)")
    for (trip, truth) in zip(long, life.trips) {
        let (began, ended) = (
            trip.start.seconds(since: Timestamp(milliseconds: start)),
            trip.end.seconds(since: Timestamp(milliseconds: start))
        )
        #expect(abs(began - truth.start) < 15, "seed \(seed)")
        #expect(abs(ended - truth.end) < 15, "seed \(seed)")
        #expect(abs(trip.metres - truth.metres) < 0.005 * truth.metres + 30, "seed \(seed)")
        #expect(abs(trip.idle - truth.standing) < 0.05 * truth.standing + 30, "seed \(seed)")
    }
}
