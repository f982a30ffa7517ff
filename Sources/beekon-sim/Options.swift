import ArgumentParser
internal import Base
import Simulation

struct Destination: ParsableArguments {
    @Option(help: .init("Send each epoch as one datagram.", valueName: "host:port"))
    var udp: HostPort?

    @Flag(help: "Open a pseudo terminal, print its path, and write to it like a serial receiver.")
    var pty = false

    @Option(
        help: .init(
            """
            Write to a file, or to standard output if it is "-". With --start and --duration, and no --speed-up, as \
            fast as possible.
            """, valueName: "path"))
    var file: String?

    func validate() throws {
        let chosen = (udp == nil ? 0 : 1) + (pty ? 1 : 0) + (file == nil ? 0 : 1)
        guard chosen == 1 else {
            throw ValidationError("Choose where to send: give one of --udp HOST:PORT, --pty and --file PATH.")
        }
    }

    func open() throws -> any Output {
        if let udp { return try UDPOutput(host: udp.host, port: udp.port) }
        if let file { return try FileOutput(path: file) }
        return try PtyOutput()
    }
}

struct DriveOptions: ParsableArguments {
    @Option(help: .init("Epochs per second, 1 to 10.", valueName: "hz"))
    var rate = 1

    @Option(help: .init("Standard deviation of the horizontal position error.", valueName: "metres"))
    var noise = 1.5

    @Option(
        parsing: .singleValue,
        help: .init(
            "No satellites during these seconds of the drive, such as 60-90; repeatable.",
            valueName: "from-to"))
    var loseSky: [SecondsWindow] = []

    @Option(
        parsing: .singleValue,
        help: .init(
            "Stand still during these seconds of the drive, such as 60-90; repeatable.", valueName: "from-to")
    )
    var park: [SecondsWindow] = []

    @Flag(help: "Never move.")
    var parked = false

    @Option(help: .init("Determines the route, the satellites and the errors.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(
        help: .init("Time of the first epoch in UTC, 2026-06-15T12:00:00Z (default: now).", valueName: "time")
    )
    var start: StartTime?

    @Option(help: .init("End after this many simulated seconds.", valueName: "seconds"))
    var duration: Double?

    @Option(
        parsing: .unconditional,  // a southern latitude begins with a dash
        help: .init("Start of the drive, in degrees.", valueName: "lat,lon"))
    var at = Place(origin: Position(latitude: 52.5163, longitude: 13.3777))

    @Option(help: "Sentence prefix of the position: gp (GPS) or gn (combined).")
    var talker = TalkerName.gp

    @Flag(help: "Mark every fix as simulated, as test benches do (gpsd reports status 8).")
    var mark = false

    func validate() throws {
        guard (1...10).contains(rate) else {
            throw ValidationError("--rate \(rate) is out of range: give 1 to 10 epochs per second.")
        }
        guard (0...1000).contains(noise) else {
            throw ValidationError("--noise \(noise) is out of range: give 0 to 1000 metres.")
        }
        if let duration, !(duration > 0 && duration <= 31_622_400) {
            throw ValidationError(
                "--duration \(duration) is out of range: give seconds above 0, up to a year.")
        }
    }

    func scenario(start: Timestamp) -> Drive.Scenario {
        var scenario = Drive.Scenario(start: start, origin: at.origin, rate: rate, seed: seed)
        scenario.noise = noise
        scenario.lostSky = loseSky.map(\.window)
        scenario.parks = park.map(\.window)
        scenario.parked = parked
        scenario.talker = talker.talker
        scenario.marked = mark
        return scenario
    }
}

/// The talkers by their command-line names.
enum TalkerName: String, CaseIterable, ExpressibleByArgument {
    case gp, gn

    var talker: NMEA.Talker { self == .gn ? .gn : .gp }
}

/// `127.0.0.1:2951`, `localhost:2951`, `[::1]:2951`.
struct HostPort: ExpressibleByArgument {
    var host: String
    var port: UInt16

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"),
            let port = UInt16(argument[argument.index(after: colon)...]),
            port > 0
        else { return nil }
        var host = argument[..<colon]
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = port
    }
}

/// `60-90`.
struct SecondsWindow: ExpressibleByArgument {
    var window: Drive.Window

    init?(argument: String) {
        let parts = argument.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let from = Double(parts[0]), let to = Double(parts[1]),
            let window = Drive.Window(from: from, to: to)
        else { return nil }
        self.window = window
    }
}

struct StartTime: ExpressibleByArgument {
    var timestamp: Timestamp

    init?(argument: String) {
        guard let timestamp = Timestamp(iso8601: argument) else { return nil }
        self.timestamp = timestamp
    }
}

/// `52.5163,13.3777`. Beyond 85 degrees of latitude the plane that the vehicle drives on would be too distorted.
struct Place: ExpressibleByArgument {
    var origin: Position

    init(origin: Position) {
        self.origin = origin
    }

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, let latitude = Double(parts[0]), let longitude = Double(parts[1]),
            (-85...85).contains(latitude), (-180...180).contains(longitude)
        else { return nil }
        origin = Position(latitude: latitude, longitude: longitude)
    }

    var defaultValueDescription: String { "\(origin.latitude),\(origin.longitude)" }
}
