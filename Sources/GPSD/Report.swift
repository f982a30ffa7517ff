package import Base
internal import CGPS
internal import Glibc

/// One message from gpsd, reduced to what matters here. NaN, zero times and impossible values have become nil.
package enum Report: Equatable, Sendable {
    case version
    /// gpsd's list of devices, by path.
    case devices([String])
    /// A device was added or changed, or was removed.
    case device(path: String, isActive: Bool)
    case tpv(TPV)
    /// `device` is empty when gpsd does not name it.
    case sky(device: String, used: Int, visible: Int)
    /// An error report from gpsd, or a message of a class that does not matter here.
    case other
}

/// A report of time, position and velocity. One measurement instant may produce several, with different values set.
package struct TPV: Equatable, Sendable {
    /// The receiver's path as gpsd names it.
    package var device: String
    /// 0…3, as gpsd defines it.
    package var mode: Int
    /// The measurement instant.
    package var time: Timestamp?
    /// Degrees, WGS-84.
    package var latitude: Double?
    /// Degrees, WGS-84.
    package var longitude: Double?
    /// Horizontal error in metres.
    package var eph: Double?
    /// Longitude error in metres.
    package var epx: Double?
    /// Latitude error in metres.
    package var epy: Double?
    /// Metres per second.
    package var speed: Double?
    /// Direction of travel in degrees, 0 ≤ bearing < 360.
    package var bearing: Double?
    /// Metres above the WGS-84 ellipsoid.
    package var altitude: Double?
    /// gpsd marks the report as simulated.
    package var isSimulated: Bool

    /// Values default to "not reported".
    package init(
        device: String, mode: Int, time: Timestamp?, latitude: Double? = nil, longitude: Double? = nil,
        eph: Double? = nil, epx: Double? = nil, epy: Double? = nil, speed: Double? = nil,
        bearing: Double? = nil, altitude: Double? = nil, isSimulated: Bool = false
    ) {
        self.device = device
        self.mode = mode
        self.time = time
        self.latitude = latitude
        self.longitude = longitude
        self.eph = eph
        self.epx = epx
        self.epy = epy
        self.speed = speed
        self.bearing = bearing
        self.altitude = altitude
        self.isSimulated = isSimulated
    }

    /// Horizontal error in metres: eph, else √(epx² + epy²). In a merged epoch eph takes precedence, whichever report
    /// had it.
    package var accuracy: Double? {
        if let eph { return eph }
        guard let epx, let epy else { return nil }
        let radius = (epx * epx + epy * epy).squareRoot()
        return radius.isFinite ? radius : nil
    }
}

/// Parses lines into reports, using libgps.
struct ReportParser: ~Copyable {
    private let data: UnsafeMutablePointer<gps_data_t>
    /// The device of the previous report. It is nearly always that of the next one, too, so its string is reused.
    private var device = ""

    /// gpsd's STATUS_SIM.
    private static let simulated: Int32 = 8
    /// 9999-12-31T23:59:59Z, the last second that the wire format can represent.
    private static let lastSecond: Int64 = 253_402_300_799

    /// - Returns: nil when memory is exhausted.
    init?() {
        guard let data = cgps_new() else { return nil }
        self.init(data)
    }

    private init(_ data: UnsafeMutablePointer<gps_data_t>) {
        self.data = data
    }

    deinit {
        cgps_free(data)
    }

    /// - Parameter line: one NUL-terminated message; libgps may modify it.
    mutating func parse(_ line: UnsafeMutablePointer<CChar>) -> Report {
        var report = cgps_report()
        guard cgps_parse(data, line, &report) == 0 else { return .other }
        switch report.kind {
        case CGPS_VERSION: return .version
        case CGPS_DEVICES: return .devices(paths(line))
        case CGPS_DEVICE:
            return .device(path: text(report.device), isActive: report.activated != 0)
        case CGPS_SKY:
            return .sky(
                device: text(report.device), used: Int(report.satellites_used),
                visible: Int(report.satellites_visible))
        case CGPS_TPV: return .tpv(tpv(report))
        default: return .other
        }
    }

    private mutating func tpv(_ report: cgps_report) -> TPV {
        TPV(
            device: text(report.device), mode: Int(report.mode), time: time(report),
            latitude: finite(report.latitude), longitude: finite(report.longitude),
            eph: finite(report.eph).flatMap { $0 >= 0 ? $0 : nil }, epx: finite(report.epx),
            epy: finite(report.epy),
            speed: finite(report.speed).flatMap { $0 >= 0 ? $0 : nil },
            bearing: finite(report.track).flatMap { $0 >= 0 && $0 < 360 ? $0 : nil },
            altitude: finite(report.altitude_hae), isSimulated: report.status == Self.simulated)
    }

    private func time(_ report: cgps_report) -> Timestamp? {
        guard report.seconds > 0, report.seconds <= Self.lastSecond,
            (0..<1_000_000_000).contains(report.nanoseconds)
        else { return nil }
        return Timestamp(milliseconds: Int64(report.seconds) * 1000 + Int64(report.nanoseconds) / 1_000_000)
    }

    private func finite(_ value: Double) -> Double? {
        value.isFinite ? value : nil
    }

    private func paths(_ line: UnsafePointer<CChar>) -> [String] {
        var paths: [String] = []
        var place: UnsafePointer<CChar>? = line
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(GPS_PATH_MAX)) { path in
            while paths.count < Source.deviceLimit,
                cgps_text(&place, "path", path.baseAddress, path.count) != 0
            {
                if let base = path.baseAddress { paths.append(String(cString: base)) }
            }
        }
        return paths
    }

    private mutating func text(_ path: UnsafePointer<CChar>?) -> String {
        guard let path else { return "" }
        if device.withCString({ strcmp($0, path) }) != 0 { device = String(cString: path) }
        return device
    }
}
