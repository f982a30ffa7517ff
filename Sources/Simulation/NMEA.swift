internal import Base

/// Formats observations as NMEA 0183 sentences. Pure: the same observation yields the same bytes.
package struct NMEA: Sendable {
    /// The talker ID of the position sentences; satellites in view are always GPS.
    package enum Talker: Sendable {
        /// GPS only.
        case gp
        /// Several constellations combined.
        case gn
    }

    static let knotsPerMeterPerSecond = 3600.0 / 1852.0

    private let position: String
    private let simulated: Bool

    /// - Parameter simulated: whether to mark every fix as simulated (gpsd status 8).
    package init(talker: Talker, simulated: Bool) {
        position = talker == .gn ? "GN" : "GP"
        self.simulated = simulated
    }

    /// RMC, GSA, GSV and GGA of one epoch. GGA comes last because gpsd ends its epoch with the last sentence that
    /// carries a time, and everything else must have arrived by then.
    package func sentences(_ seen: Receiver.Observation, withSatellites: Bool) -> [String] {
        [rmc(seen), gsa(seen)] + (withSatellites ? gsv(seen) : []) + [gga(seen)]
    }

    /// Frames `body` with `$`, `*`, its checksum and the line end.
    package static func sentence(_ body: String) -> String {
        let sum = body.utf8.reduce(UInt8(0)) { $0 ^ $1 }
        let hex = String(sum, radix: 16, uppercase: true)
        return "$\(body)*\(hex.count == 1 ? "0" : "")\(hex)\r\n"
    }

    private func rmc(_ seen: Receiver.Observation) -> String {
        let date = seen.time.date
        let day = two(date.day) + two(date.month) + two(date.year % 100)
        let clock = Self.clock(seen.time)
        guard let fix = seen.fix else {
            return Self.sentence("\(position)RMC,\(clock),V,,,,,,,\(day),,,N")
        }
        let speed = fixed(fix.speed * Self.knotsPerMeterPerSecond, decimals: 3)
        let track = fix.track.map { Self.degrees($0) } ?? ""
        let mode = simulated ? "S" : "A"
        return Self.sentence(
            "\(position)RMC,\(clock),A,\(Self.place(fix)),\(speed),\(track),\(day),,,\(mode)")
    }

    private func gga(_ seen: Receiver.Observation) -> String {
        let clock = Self.clock(seen.time)
        guard let fix = seen.fix else {
            return Self.sentence("\(position)GGA,\(clock),,,,,0,00,,,M,,M,,")
        }
        let used = min(12, seen.satellites.filter(\.used).count)
        let heights =
            "\(fixed(fix.altitude, decimals: 2)),M,\(fixed(fix.geoidSeparation, decimals: 1)),M"
        return Self.sentence(
            "\(position)GGA,\(clock),\(Self.place(fix)),\(simulated ? "8" : "1"),\(two(used)),"
                + "\(fixed(fix.hdop, decimals: 2)),\(heights),,")
    }

    private func gsa(_ seen: Receiver.Observation) -> String {
        // The sentence has twelve slots, however many satellites were used.
        var slots = seen.satellites.filter(\.used).prefix(12).map { two($0.number) }
        slots += Array(repeating: "", count: 12 - slots.count)
        let list = slots.joined(separator: ",")
        guard let fix = seen.fix else { return Self.sentence("\(position)GSA,A,1,\(list),,,") }
        let pdop = (fix.hdop * fix.hdop + fix.vdop * fix.vdop).squareRoot()
        let dops = [pdop, fix.hdop, fix.vdop].map { fixed($0, decimals: 2) }.joined(separator: ",")
        return Self.sentence("\(position)GSA,A,3,\(list),\(dops)")
    }

    /// Satellites in view, four to a sentence.
    private func gsv(_ seen: Receiver.Observation) -> [String] {
        let groups = stride(from: 0, to: seen.satellites.count, by: 4).map {
            seen.satellites[$0..<min($0 + 4, seen.satellites.count)]
        }
        return groups.enumerated().map { index, group in
            let blocks = group.map { satellite in
                ",\(two(satellite.number)),\(two(satellite.elevation)),\(padded(satellite.azimuth, 3)),"
                    + (satellite.signal.map(two) ?? "")
            }
            return Self.sentence(
                "GPGSV,\(groups.count),\(index + 1),\(two(seen.satellites.count))\(blocks.joined())")
        }
    }

    private static func clock(_ time: Timestamp) -> String {
        let of = time.millisecondOfDay
        let seconds = of / 1000
        return two(seconds / 3600) + two(seconds / 60 % 60) + two(seconds % 60) + "." + padded(of % 1000, 3)
    }

    private static func place(_ fix: Receiver.Fix) -> String {
        let latitude = minutes(fix.latitude, degreeDigits: 2) + (fix.latitude < 0 ? ",S," : ",N,")
        return latitude + minutes(fix.longitude, degreeDigits: 3) + (fix.longitude < 0 ? ",W" : ",E")
    }

    /// Degrees and minutes without a separator, minutes to 1e-5 (about 2 cm). Rounded as a whole, so that 59.999999
    /// minutes carry over.
    private static func minutes(_ degrees: Double, degreeDigits: Int) -> String {
        let unit = 100_000
        let total = Int((degrees.magnitude * 60 * Double(unit)).rounded())
        let (whole, rest) = total.quotientAndRemainder(dividingBy: 60 * unit)
        return padded(whole, degreeDigits) + two(rest / unit) + "." + padded(rest % unit, 5)
    }

    /// A direction with two decimals, never rounded up to 360.
    private static func degrees(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded()) % 36_000
        return fixed(Double(hundredths) / 100, decimals: 2)
    }
}

private func two(_ value: some BinaryInteger) -> String { padded(value, 2) }

private func padded(_ value: some BinaryInteger, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

/// Fixed-point notation without an exponent.
private func fixed(_ value: Double, decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1) { product, _ in product * 10 }
    let total = Int((value.magnitude * Double(scale)).rounded())
    let sign = value < 0 && total > 0 ? "-" : ""
    return "\(sign)\(total / scale).\(padded(total % scale, decimals))"
}
