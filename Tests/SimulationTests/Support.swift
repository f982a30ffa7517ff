import Base
import Glibc
import Simulation

/// A sentence parsed independently: shares no code with the writer.
struct ParsedSentence {
    var fields: [String]

    /// nil when the framing or the checksum is wrong.
    init?(_ line: String) {
        guard line.hasPrefix("$"), line.hasSuffix("\r\n"), line.utf8.count <= 82 else { return nil }
        let parts = line.dropFirst().dropLast(1).split(separator: "*", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 2, let sum = UInt8(parts[1], radix: 16),
            sum == parts[0].utf8.reduce(0, ^)
        else { return nil }
        fields = parts[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    var kind: String { String(fields[0].suffix(3)) }

    /// Degrees from a field such as 5230.97720 and the hemisphere in the next one.
    func degrees(at index: Int) -> Double? {
        guard let value = Double(fields[index]) else { return nil }
        let whole = (value / 100).rounded(.towardZero)
        let magnitude = whole + (value - whole * 100) / 60
        return ["S", "W"].contains(fields[index + 1]) ? -magnitude : magnitude
    }
}

extension Drive.Scenario {
    /// Noon of a summer day in Berlin, without errors unless specified.
    static func test(rate: Int = 1, seed: UInt64 = 1, noise: Double = 0) -> Drive.Scenario {
        var scenario = Drive.Scenario(
            start: Timestamp(milliseconds: 1_781_524_800_000),
            origin: Position(latitude: 52.5163, longitude: 13.3777), rate: rate, seed: seed)
        scenario.noise = noise
        return scenario
    }
}

/// The first epochs of a drive.
func epochs(_ scenario: Drive.Scenario, count: Int) -> [Drive.Epoch] {
    var drive = Drive(scenario)
    return (0..<count).map { _ in drive.next() }
}

func sentences(_ epoch: Drive.Epoch, _ kind: String) -> [ParsedSentence] {
    epoch.sentences.compactMap(ParsedSentence.init).filter { $0.kind == kind }
}

/// Distance in metres between two nearby positions, on a sphere.
func meters(_ a: (Double, Double), _ b: (Double, Double)) -> Double {
    let north = (b.0 - a.0) * 111_195
    let east = (b.1 - a.1) * 111_195 * cos(a.0 * .pi / 180)
    return hypot(east, north)
}
