internal import Base
internal import FoundationEssentials
internal import ServerStore

/// What metrics tell of one vehicle: a number for each row of `VehicleSample.metrics`, nil where it does not say.
struct VehicleSample: Sendable {
    /// What a heartbeat says, as far as metrics repeat it.
    struct Status: Decodable {
        var state: String?
        var receiver: String?
        var pending: Double?
        var oldest: String?
        var odometer: Double?
        var ignition: Bool?
        var uptime: Double?

        private enum CodingKeys: String, CodingKey {
            case state, receiver, pending, ignition
            case oldest = "oldest_pending"
            case odometer = "odometer_meters"
            case uptime = "uptime_seconds"
        }
    }

    /// What is told of a metric where there are too many vehicles for a line each.
    enum Summary: Sendable {
        /// How many vehicles have a time that is no older, by classes.
        case ages
        case sum
        /// How many vehicles say yes, and how many no.
        case flags
        case none
    }

    struct Metric: Sendable {
        /// Without what all names begin with.
        let name: String
        let help: String
        let summary: Summary
        let value: @Sendable (DeviceSample, Status) -> Double?

        init(
            _ name: String, _ help: String, _ summary: Summary,
            _ value: @escaping @Sendable (DeviceSample, Status) -> Double?
        ) {
            self.name = name
            self.help = help
            self.summary = summary
            self.value = value
        }
    }

    static let metrics = [
        Metric("seen_timestamp_seconds", "When a device was last heard of.", .ages) { sample, _ in
            seconds(sample.seen)
        },
        Metric("located_timestamp_seconds", "The time of its newest location.", .ages) { sample, _ in
            seconds(sample.located)
        },
        Metric("pending_locations", "Rows that it has not uploaded yet, by its own word.", .sum) {
            $1.pending
        },
        Metric("oldest_pending_timestamp_seconds", "The time of the oldest of these.", .ages) { _, status in
            seconds(status.oldest.flatMap { Timestamp(iso8601: $0) })
        },
        Metric("odometer_meters", "Metres since its installation.", .sum) { $1.odometer },
        Metric("uptime_seconds", "Seconds since its daemon started.", .none) { $1.uptime },
        Metric("tracking", "1 while it tracks.", .flags) { flag($1.state.map { $0 == "tracking" }) },
        Metric("receiver_ok", "1 while its receiver works.", .flags) { flag($1.receiver.map { $0 == "ok" }) },
        Metric("ignition", "1 with ignition on.", .flags) { flag($1.ignition) },
    ]

    let id: Int64
    /// The group that it is in; nil: none.
    let group: Int64?
    /// In the order of `metrics`.
    let values: [Double?]

    init(_ sample: DeviceSample) {
        (id, group) = (sample.id, sample.group)
        let status = sample.status.flatMap { try? JSONDecoder().decode(Status.self, from: Data($0.utf8)) }
        values = Self.metrics.map { $0.value(sample, status ?? Status()) }
    }

    /// Unix seconds.
    private static func seconds(_ time: Timestamp?) -> Double? { time.map { Double($0.milliseconds) / 1000 } }

    private static func flag(_ isSet: Bool?) -> Double? { isSet.map { $0 ? 1 : 0 } }
}

/// Vehicles as metrics, with a line each.
struct FleetSample: Sendable {
    var vehicles: [VehicleSample] = []

    /// - Parameter write: is handed what is as long as a piece of an answer.
    func append(to text: inout MetricText, write: ([UInt8]) async throws -> Void) async throws {
        for (index, metric) in VehicleSample.metrics.enumerated() {
            text.begin("beekon_device_" + metric.name, "gauge", metric.help)
            for vehicle in vehicles {
                if let value = vehicle.values[index] { text.add(value, [("device", "\(vehicle.id)")]) }
                if text.bytes.count >= Piece.longest { try await write(text.take()) }
            }
        }
    }
}

/// Sums over vehicles, in place of a line each. A value.
struct FleetTally: Equatable, Sendable {
    /// One metric.
    struct Count: Equatable, Sendable {
        /// Vehicles that say something.
        var all = 0
        var sum = 0.0
        /// In the order of `classes`: vehicles whose time is no older.
        var classes = [Int](repeating: 0, count: FleetTally.classes.count)

        mutating func add(_ value: Double, at now: Double) {
            all += 1
            sum += value
            for (index, age) in FleetTally.classes.enumerated() where now - value <= age {
                classes[index] += 1
            }
        }

        mutating func add(_ other: Count) {
            all += other.all
            sum += other.sum
            for index in classes.indices { classes[index] += other.classes[index] }
        }
    }

    /// Seconds: a minute, five, an hour, a day, a week.
    static let classes = [60.0, 300, 3600, 86_400, 604_800]

    var vehicles = 0
    /// In the order of `VehicleSample.metrics`.
    var counts = [Count](repeating: Count(), count: VehicleSample.metrics.count)

    /// - Parameter now: Unix seconds.
    mutating func add(_ vehicle: VehicleSample, at now: Double) {
        vehicles += 1
        for (index, value) in vehicle.values.enumerated() {
            if let value { counts[index].add(value, at: now) }
        }
    }

    mutating func add(_ other: FleetTally) {
        vehicles += other.vehicles
        for index in counts.indices { counts[index].add(other.counts[index]) }
    }

    func append(to text: inout MetricText) {
        for (metric, count) in zip(VehicleSample.metrics, counts) {
            let about = metric.help
            switch metric.summary {
            case .none: break
            case .sum:
                text.begin("beekon_devices_" + metric.name, "gauge", "\(about) The sum of all devices.")
                text.add(count.sum, [])
            case .flags:
                text.begin("beekon_devices_" + metric.name, "gauge", "\(about) Devices that say so, or not.")
                text.add(count.sum, [("value", "1")])
                text.add(Double(count.all) - count.sum, [("value", "0")])
            case .ages:
                let name = metric.name.replacing("_timestamp_seconds", with: "")
                text.begin(
                    "beekon_devices_" + name, "gauge",
                    "\(about) Devices with a time that is no older than that.")
                for (age, vehicles) in zip(Self.classes, count.classes) {
                    text.add(Double(vehicles), [("within_seconds", LocationText.number(age))])
                }
                text.add(Double(count.all), [("within_seconds", "+Inf")])
            }
        }
    }
}
