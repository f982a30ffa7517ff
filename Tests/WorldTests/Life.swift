import Glibc
import Support

@testable import DaemonConfiguration
@testable import Upload

/// What is lived: a seed, for how long, and what it does not draw itself.
struct Life {
    let seed: UInt64
    /// Simulated seconds, until all faults cease.
    let seconds: Double
    /// Numbers of the happenings that happen, of a seed that was shrunk (`World.happens`); nil: all.
    var only: Set<Int>?
    /// From 1 to 4; nil: drawn.
    var destinations: Int?
    /// What all destinations have; nil: drawn.
    var format: Format?
    /// Seconds between stored fixes; nil: drawn.
    var interval: Double?

    /// A life as long as its seed has it: from ten minutes to four hours, as many short ones as long ones.
    init(_ seed: UInt64) {
        var random = SeededGenerator(seed: ~seed)
        self.seed = seed
        seconds = exp(Double.random(in: log(600.0)...log(14_400.0), using: &random))
    }

    /// A seed that was shrunk; `make simulate SHRINK=` prints these values.
    init(_ seed: UInt64, seconds: Double, destinations: Int? = nil, only: Set<Int>? = nil) {
        (self.seed, self.seconds) = (seed, seconds)
        (self.destinations, self.only) = (destinations, only)
    }

    /// As BEEKOND_WORLD has it: words such as `seconds=86400 destinations=1 format=beekon interval=1 only=3,7`.
    init(_ seed: UInt64, _ words: String) {
        var values: [Substring: Substring] = [:]
        for word in words.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        let drawn = Life(seed)
        self.init(
            seed, seconds: values["seconds"].flatMap { Double($0) } ?? drawn.seconds,
            destinations: values["destinations"].flatMap { Int($0) },
            only: values["only"].map { Set($0.split(separator: ",").compactMap { Int($0) }) })
        format = values["format"].flatMap { Format(rawValue: String($0)) }
        interval = values["interval"].flatMap { Double($0) }
    }
}

/// What happens to a vehicle, beside what becomes of each request.
enum Happening: String, CaseIterable {
    case end = "ends"
    case upload = "uploads asked for"
    case deletion = "deletions"
    case intent = "starts and stops"
    case settings = "other settings"
    case silence = "silent gpsd"
    case network = "returns of the network"
    case full = "full disks"
    case failing = "failing disks"
    case clock = "steps of the clock"
    case receiver = "times of the receiver"
    case servers = "moods of servers"
    case geofence = "geofences"
    case endpoint = "moods of token endpoints"
    case tokens = "new tokens"

    /// Servers change as often as four others.
    static func drawn(using random: inout SeededGenerator) -> Happening {
        let number = Int.random(in: 0..<16, using: &random)
        return number < usual.count ? usual[number] : .servers
    }

    private static let usual: [Happening] = [
        .end, .end, .upload, .deletion, .intent, .settings, .silence, .network, .full, .failing, .clock,
        .receiver,
    ]
}

extension SeededGenerator {
    /// Who draws random numbers.
    enum Stream: UInt64 { case vehicle, timeline, happening, order, road, process, exchange, nesting }

    /// A stream of its own: what it gives does not depend on how much others have drawn. So a life that leaves something out is
    /// otherwise like the whole one, as far as nothing follows from it.
    init(_ seed: UInt64, _ stream: Stream, _ number: Int = 0) {
        self.init(seed, number)
        self.init(seed: next() ^ (stream.rawValue &* 0xA24B_AED4_963E_E407))
        self.init(seed: next())
    }

    /// The stream of the n-th of a row.
    init(_ seed: UInt64, _ number: Int) {
        self.init(seed: seed ^ (UInt64(bitPattern: Int64(number)) &* 0xD1B5_4A32_D192_ED03))
        self.init(seed: next())
    }
}

/// FNV-1a of all that it is given, of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv).
struct Digest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func enter(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
}
