import Base
import Support
import Testing
import Tracking

@testable import Storage

/// Odometer and trips in what a power cut leaves, at hundreds of points of a drive of several trips, opened with the real
/// code: never less than was told, each trip that had ended there once, and the one under way ended at its last stored fix.
/// From a part of the images the drive goes on, after a boot: the odometer is right at the end.
@Suite("crash images of a drive")
struct VehicleImageTests {
    private let points = Effort.isLong ? 3000 : 40

    @Test(arguments: [StoreOptions.Durability.full, .normal])
    func nothingIsLostOrCountedTwice(durability: StoreOptions.Durability) throws {
        print("crash images of a drive, durability \(durability): BEEKOND_SEED=\(Effort.seed)")
        let folder = try Folder()
        let recording = try #require(Recording(directory: folder.path))
        let options = StoreOptions(durability: durability, destinations: .main)
        let store = try Store(directory: folder.path, options: options, checkpointPages: 40)
        var logger = try DriveLogger(store: store, recording: recording)
        for moment in Road.drive { try logger.drive(to: moment) }
        store.close()
        let events = recording.events()
        var random = SeededGenerator(seed: Effort.seed)
        let chosen = Set(events.indices.shuffled(using: &random).prefix(points))
        var examination = try DriveExamination(states: logger.states, options: options)
        var disk = Disk()
        for (index, event) in events.enumerated() {
            disk.apply(event)
            if case .mark(let number) = event { examination.returned = number }
            guard chosen.contains(index) else { continue }
            var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
            let loss = PowerLoss.allCases.randomElement(using: &random) ?? .any
            let fault = try examination.fault(of: disk.image(after: loss, using: &random))
            try #require(fault == nil, "\(fault ?? "") (event \(index) of \(events.count), loss \(loss))")
        }
        print(
            "crash images of a drive, durability \(durability): \(events.count) events, \(examination.summary)"
        )
        #expect(examination.images == min(points, events.count))
        #expect(examination.driven > points / 20)
    }
}

/// A drive of three trips, a fix each second, known exactly.
private enum Road {
    struct Moment {
        var fix: Fix
        var metres: Double
    }

    static let drive: [Moment] = {
        var moments: [Moment] = []
        var (metres, north, east, speed) = (0.0, 0.0, 0.0, 0.0)
        let stretches: [(seconds: Int, speed: Double)] = [
            (150, 0), (650, 22), (500, 0), (300, 14), (60, 0), (420, 14), (450, 0), (700, 31), (450, 0),
        ]
        for (seconds, wanted) in stretches {
            for _ in 0..<seconds {
                let change = min(max(wanted - speed, -1.8), 1.8)
                let step = speed + change / 2
                // Gentle bends.
                let lean = 0.3 * (metres / 3000).truncatingRemainder(dividingBy: 1)
                north += step * (1 - lean * lean).squareRoot()
                east += step * lean
                metres += step
                speed += change
                let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(moments.count) * 1000)
                let place = Coordinate(latitude: north / 111_195, longitude: 8 + east / 111_195)
                    .unsafelyUnwrapped
                moments.append(
                    Moment(
                        fix: Fix(time: time, mode: 3, coordinate: place, accuracy: 4, speed: speed),
                        metres: metres))
            }
        }
        return moments
    }()

    /// What has been driven at this time.
    static func metres(at time: Timestamp) -> Double {
        let index = Int((time.milliseconds - 1_700_000_000_000) / 1000)
        return drive.indices.contains(index) ? drive[index].metres : 0
    }
}

private let boots = [BootID(high: 1, low: 1), BootID(high: 1, low: 2)]
private let session = UUIDv7Maker.next(at: Timestamp(milliseconds: 1_700_000_000_000))

private enum UUIDv7Maker {
    static func next(at time: Timestamp) -> UUIDv7 {
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        return ids.next(at: time)
    }
}

/// Decides on each fix as the reader does.
private struct Driver {
    static let thresholds = Admission.Thresholds(gate: Gate.Thresholds(interval: 5, distance: 60))
    var admission = Admission(thresholds: Self.thresholds)
    var odometer = Odometer()
    var trips = Trips()

    /// - Returns: what of trips has changed, and whether the fix is admitted.
    mutating func take(_ fix: Fix) -> (observed: Admission.Observation, changes: [Trips.Change], Trigger?) {
        let observed = admission.observe(fix)
        odometer.observe(observed, ignition: nil)
        let changes = trips.observe(observed, odometer: odometer.metres, ignition: nil)
        guard case .admit(let trigger) = admission.decide(observed) else { return (observed, changes, nil) }
        return (observed, changes, trigger)
    }
}

extension [Trips.Change] {
    fileprivate var ended: [Trip] {
        compactMap { change in
            if case .ended(let trip) = change { trip } else { nil }
        }
    }
}

/// What must outlive a power cut from now on.
private struct DriveState {
    /// Metres, as the newest row has them.
    var told: Int64 = 0
    var ended: [Trip] = []
    /// The trip under way, as far as it has been told.
    var open: Trips.Open?
    /// Fix time of the newest row.
    var latest = Timestamp(milliseconds: 0)
}

/// Stores a drive, and has every few rows leave.
private struct DriveLogger {
    let store: Store
    let recording: Recording
    private(set) var states = [DriveState()]
    private var driver = Driver()
    private var stored = 0

    init(store: Store, recording: Recording) throws {
        self.store = store
        self.recording = recording
    }

    mutating func drive(to moment: Road.Moment) throws {
        let (observed, changes, trigger) = driver.take(moment.fix)
        var events: NewEvents?
        if !changes.isEmpty {
            var new = NewEvents(
                events: [], changes: [], session: session, sessionStartedAt: moment.fix.time,
                isTracking: true,
                extras: nil, time: moment.fix.time, prunesByAge: false)
            new.trips = NewTrips(ended: changes.ended, open: trip)
            events = new
        }
        if let trigger {
            let location = Location(
                id: UUIDv7Maker.next(at: moment.fix.time), session: session, fix: moment.fix,
                trigger: trigger,
                motion: observed.motion, mileage: driver.odometer.memory.wholeMetres)
            let new = NewLocation(
                location: location, session: session, sessionStartedAt: moment.fix.time,
                odometer: driver.admission.odometer, extras: nil, prunesByAge: false,
                memory: driver.admission.memory,
                vehicle: NewVehicle(settings: 0, trip: trip))
            _ = try store.insert(new, with: events)
            note(changes, location)
            stored += 1
            if stored % 12 == 0 { try upload() }
        } else if let events {
            _ = try store.insert(events)
            note(changes, nil)
        }
    }

    private var trip: StoredTrip? { driver.trips.open.map { StoredTrip($0, boot: boots[0], settings: 0) } }

    private mutating func note(_ changes: [Trips.Change], _ location: Location?) {
        var state = states.last ?? DriveState()
        state.ended += changes.ended
        state.open = driver.trips.open
        if let location { (state.told, state.latest) = (location.mileage ?? 0, location.fix.time) }
        states.append(state)
        recording.mark(states.count - 1)
    }

    private func upload() throws {
        guard let draft = try store.draftBatch(limit: 100, order: .oldest) else { return }
        let id = UUIDv7Maker.next(at: Timestamp(milliseconds: 1_700_000_000_000))
        guard let batch = try store.freeze(draft, id: id, StoredRequest(body: [1])) else { return }
        _ = try store.acknowledge(batch)
    }
}

/// Opens images, and drives on from some of them.
private struct DriveExamination {
    let states: [DriveState]
    let options: StoreOptions
    private let folder: Folder
    /// The latest operation that had returned.
    var returned = 0
    private(set) var images = 0
    private(set) var driven = 0
    private var open = 0
    private var worst = 0.0

    init(states: [DriveState], options: StoreOptions) throws {
        (self.states, self.options) = (states, options)
        folder = try Folder()
    }

    var summary: String {
        "\(images) images, a trip under way in \(open), driven on from \(driven): off by "
            + "\((worst * 100_000).rounded() / 1000) % at most at the end"
    }

    mutating func fault(of image: [String: FileBytes]) throws -> String? {
        images += 1
        try folder.clear()
        for (name, content) in image { try folder.write(name, content.bytes) }
        let store = try Store(directory: folder.path, options: options)
        defer { store.close() }
        let memory = try store.vehicle()
        let metres = memory.odometer?.wholeMetres ?? 0
        // At FULL what had returned is there; at NORMAL any earlier state will do. The operation under way may be there.
        let earliest = options.durability == .full ? returned : 0
        let possible = states[earliest...min(returned + 1, states.count - 1)]
        let ended = try History(directory: folder.path).trips(from: nil, to: nil)
        let candidates = possible.filter {
            $0.told == metres && $0.ended == ended && $0.open?.start == memory.trip?.open.start
        }
        guard let state = candidates.first else {
            return
                "the odometer at \(metres) m, \(ended.count) trips, \(memory.trip == nil ? "none" : "one") "
                + "under way: not what was stored; \(states[returned].told) m had been told"
        }
        // A row that was stored while standing differs in nothing but the stay.
        let faults = candidates.map { faultOfTrips($0, memory) }
        if memory.trip?.open.hasStarted == true { open += 1 }
        return try faults.contains(nil) ? faultOfDriving(store, state, memory) : faults[0]
    }

    /// The machine is started again: the trip that was under way ends at its last stored fix.
    private func faultOfTrips(_ state: DriveState, _ memory: VehicleMemory) -> String? {
        var trips = Trips(memory.trip?.open)
        let ended = trips.start(isNewBoot: true).ended
        guard let now = state.open, now.hasStarted else {
            return ended.isEmpty ? nil : "a trip has ended that had not begun"
        }
        guard ended.count == 1, let trip = ended.first, trip.start == now.start.time else {
            return "the trip under way is lost"
        }
        let end = now.stay?.time ?? state.latest
        guard trip.end == end else { return "the trip ends at \(trip.end), not at \(end)" }
        let truth = Road.metres(at: trip.end) - Road.metres(at: trip.start)
        guard abs(trip.metres - truth) <= 0.005 * truth + 5 else {
            return "the trip has \(trip.metres) m, and was \(truth) m long"
        }
        return nil
    }

    /// Booting takes 40 s, in which the vehicle goes on.
    private mutating func faultOfDriving(_ store: Store, _ state: DriveState, _ memory: VehicleMemory) throws
        -> String?
    {
        guard images % 10 == 0, state.told > 0 else { return nil }
        driven += 1
        let tail = try store.enter(session: session, startedAt: Timestamp(milliseconds: 1_700_000_000_000))
        var driver = Driver()
        if let tail {
            driver.admission = Admission(
                thresholds: Driver.thresholds, last: tail.reference, memory: tail.memory,
                odometer: tail.odometer)
        }
        driver.odometer = Odometer(Odometer.Memory.latest(memory.odometer, nil))
        let from = state.latest.advanced(bySeconds: 40)
        var before = driver.odometer.metres
        for moment in Road.drive where moment.fix.time >= from {
            _ = driver.take(moment.fix)
            guard driver.odometer.metres >= before else { return "the odometer went back" }
            before = driver.odometer.metres
        }
        let truth = Road.drive.last?.metres ?? 0
        worst = max(worst, abs(driver.odometer.metres - truth) / truth)
        return worst <= 0.005 ? nil : "the odometer is at \(driver.odometer.metres) m after \(truth) m"
    }
}
