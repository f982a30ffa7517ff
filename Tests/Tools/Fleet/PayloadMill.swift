internal import Base
internal import Envelope
internal import Simulation
internal import Tracking
internal import Upload

/// Makes the bodies of batches: real ones for some vehicles, and sizes like theirs for the others.
///
/// Confined to one thread.
final class PayloadMill {
    /// What is pending of a vehicle whose bodies are real.
    private struct Queue {
        let install: String
        let session: UUIDv7
        var rows: [Row] = []
    }

    private struct Row {
        var time: Timestamp
        /// On its road.
        var number: Int
    }

    /// One vehicle in so many has real bodies.
    let share: Int
    private let roads: [Road]
    private let epoch: Timestamp
    private let keepsBodies: Bool
    private var ids: UUIDv7Generator
    private var queues: [Int: Queue] = [:]
    /// Frozen, by vehicle.
    private(set) var requests: [Int: (id: UUIDv7, request: Request)] = [:]
    /// Sizes of the latest bodies, by the number of their rows.
    private var sizes: [[UInt32]] = []
    /// How many bodies were real.
    private(set) var made = 0
    private var random: SplitMix64

    /// Sizes that are kept for each number of rows.
    private static let samples = 32

    /// - Parameters:
    ///   - share: one vehicle in so many has real bodies.
    ///   - epoch: the time at the boot.
    ///   - keepsBodies: they are to be sent.
    init(share: Int, roads: [Road], epoch: Timestamp, keepsBodies: Bool, seed: UInt64) {
        (self.share, self.roads, self.epoch, self.keepsBodies) = (share, roads, epoch, keepsBodies)
        random = SplitMix64(seed: seed)
        ids = UUIDv7Generator(using: &random)
    }

    func isReal(_ vehicle: Int) -> Bool { vehicle % share == 0 }

    private func time(_ now: BootInstant) -> Timestamp {
        Timestamp(milliseconds: epoch.milliseconds + now.nanoseconds / 1_000_000)
    }

    /// Rows have been stored: those of the road from `first` on, the vehicle having been at `seconds` of it at `now`.
    func store(
        _ count: Int, of vehicle: Int, from first: Int, on road: Int, seconds: Double, now: BootInstant
    ) {
        guard isReal(vehicle) else { return }
        let stored = (first..<first + count).compactMap { number in
            roads[road].row(number).map { row in
                Row(time: time(now.advanced(bySeconds: row.seconds - seconds)), number: number)
            }
        }
        queue(vehicle) { $0.rows += stored }
    }

    /// The oldest rows become a batch.
    ///
    /// - Returns: bytes of its body.
    func freeze(_ count: Int, of vehicle: Int, on road: Int, now: BootInstant) -> Int {
        guard isReal(vehicle) else { return size(count) }
        let rows = queue(vehicle) { $0.rows.prefix(count) }
        return make(vehicle, rows: count, at: now) { format, id, session, time in
            format.request(
                batch: id, session: session, sentAt: time, extras: nil,
                locations: rows.compactMap { row in
                    self.location(row, of: vehicle, on: road, session: session)
                })
        }
    }

    /// How many rows wait to be sent or acknowledged.
    func pending(_ vehicle: Int) -> Int { queues[vehicle]?.rows.count ?? 0 }

    /// An envelope without rows.
    ///
    /// - Returns: bytes of its body.
    func heartbeat(of vehicle: Int, isMoving: Bool, now: BootInstant) -> Int {
        guard isReal(vehicle) else { return size(0) }
        let status = VehicleStatus(
            state: "tracking", motion: isMoving ? "moving" : "stationary", receiver: "ok", pending: 0,
            version: "1.0.0", uptime: Int(now.nanoseconds / 1_000_000_000))
        return make(vehicle, rows: 0, at: now) { format, id, session, time in
            format.envelope(id, session: session, sentAt: time, extras: nil, status: status, results: [])
        }
    }

    /// The batch has been acknowledged.
    func acknowledge(_ count: Int, of vehicle: Int) {
        guard isReal(vehicle) else { return }
        queue(vehicle) { $0.rows.removeFirst(min(count, $0.rows.count)) }
        requests[vehicle] = nil
    }

    private func queue<Result>(_ vehicle: Int, _ body: (inout Queue) -> Result) -> Result {
        body(
            &queues[
                vehicle,
                default: Queue(install: ids.next(at: epoch).description, session: ids.next(at: epoch))])
    }

    private func make(
        _ vehicle: Int, rows: Int, at now: BootInstant,
        _ encode: (inout BeekonFormat, UUIDv7, UUIDv7, Timestamp) -> Request?
    ) -> Int {
        let time = time(now)
        let (id, install, session) = (
            ids.next(at: time), queue(vehicle) { $0.install }, queue(vehicle) { $0.session }
        )
        var format = BeekonFormat(
            device: Device(installID: install, platform: "linux", version: "1.0.0", model: "Raspberry Pi 4"))
        guard let request = encode(&format, id, session, time) else { return 0 }
        if keepsBodies { requests[vehicle] = (id, request) }
        made += 1
        while sizes.count <= rows { sizes.append([]) }
        let size = UInt32(clamping: request.body.count)
        if sizes[rows].count < Self.samples {
            sizes[rows].append(size)
        } else {
            sizes[rows][made % Self.samples] = size
        }
        return request.body.count
    }

    private func location(_ row: Row, of vehicle: Int, on road: Int, session: UUIDv7) -> Location? {
        guard var location = roads[road].row(row.number)?.location else { return nil }
        // Each in a place of its own.
        let place = location.fix.coordinate
        guard
            let moved = Coordinate(
                latitude: place.latitude - Double(vehicle % 97) / 16,
                longitude: place.longitude + Double(vehicle % 89) / 16)
        else { return nil }
        location.id = ids.next(at: row.time)
        location.session = session
        location.fix.time = row.time
        location.fix.coordinate = moved
        return location
    }

    /// The size of a real body with as many rows, or with the nearest number of which there was one.
    private func size(_ rows: Int) -> Int {
        for distance in 0..<max(sizes.count, rows + 1) {
            for near in [rows - distance, rows + distance]
            where sizes.indices.contains(near) && !sizes[near].isEmpty {
                let known = Int(sizes[near][Int(random.unit() * Double(sizes[near].count))])
                return max(known + (rows - near) * Self.rowBytes, 1)
            }
        }
        return Self.envelopeBytes + rows * Self.rowBytes
    }

    /// Bytes, while there is no real body to go by.
    private static let (envelopeBytes, rowBytes) = (280, 48)
}
