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

    struct Metric: Sendable {
        let name: String
        let help: String
        let value: @Sendable (DeviceSample, Status) -> Double?

        init(_ name: String, _ help: String, _ value: @escaping @Sendable (DeviceSample, Status) -> Double?) {
            self.name = "beekon_device_" + name
            self.help = help
            self.value = value
        }
    }

    static let metrics = [
        Metric("seen_timestamp_seconds", "When a device was last heard of.") { sample, _ in
            seconds(sample.seen)
        },
        Metric("located_timestamp_seconds", "The time of its newest location.") { sample, _ in
            seconds(sample.located)
        },
        Metric("pending_locations", "Rows that it has not uploaded yet, by its own word.") { $1.pending },
        Metric("oldest_pending_timestamp_seconds", "The time of the oldest of these.") { _, status in
            seconds(status.oldest.flatMap { Timestamp(iso8601: $0) })
        },
        Metric("odometer_meters", "Metres since its installation.") { $1.odometer },
        Metric("uptime_seconds", "Seconds since its daemon started.") { $1.uptime },
        Metric("tracking", "1 while it tracks.") { flag($1.state.map { $0 == "tracking" }) },
        Metric("receiver_ok", "1 while its receiver works.") { flag($1.receiver.map { $0 == "ok" }) },
        Metric("ignition", "1 with ignition on.") { flag($1.ignition) },
    ]

    let id: Int64
    /// In the order of `metrics`.
    let values: [Double?]

    init(_ sample: DeviceSample) {
        id = sample.id
        let status = sample.status.flatMap { try? JSONDecoder().decode(Status.self, from: Data($0.utf8)) }
        values = Self.metrics.map { $0.value(sample, status ?? Status()) }
    }

    /// Unix seconds.
    private static func seconds(_ time: Timestamp?) -> Double? { time.map { Double($0.milliseconds) / 1000 } }

    private static func flag(_ isSet: Bool?) -> Double? { isSet.map { $0 ? 1 : 0 } }
}

/// The fleet as metrics.
struct FleetSample: Sendable {
    var vehicles: [VehicleSample] = []

    /// - Parameter write: is handed what is as long as a piece of an answer.
    func append(to text: inout MetricText, write: ([UInt8]) async throws -> Void) async throws {
        text.begin("beekon_devices", "gauge", "Devices that may upload.")
        text.add(Double(vehicles.count), [])
        for (index, metric) in VehicleSample.metrics.enumerated() {
            text.begin(metric.name, "gauge", metric.help)
            for vehicle in vehicles {
                if let value = vehicle.values[index] { text.add(value, [("device", "\(vehicle.id)")]) }
                if text.bytes.count >= Piece.longest { try await write(text.take()) }
            }
        }
    }
}
