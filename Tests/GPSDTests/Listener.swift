import Base
import Linux
import Support
import Testing

@testable import GPSD
@testable import Tracking

/// A source connected to a fake gpsd; the test controls the clock.
struct Listener: ~Copyable {
    let gpsd: FakeGPSD
    var source: Source
    /// Boot time in seconds.
    var now = 0.0

    /// - Parameter host: a name or an address of the loopback interface.
    init(host: String = "127.0.0.1", device: String = "") throws {
        let gpsd = try FakeGPSD()
        self.init(gpsd: gpsd, source: try makeSource(host: host, port: gpsd.port, device: device))
    }

    private init(gpsd: FakeGPSD, source: consuming Source) {
        self.gpsd = gpsd
        self.source = source
    }

    /// A source that has connected and received the greeting.
    static func watching(device: String = "", devices: String = devicesLine) throws -> Listener {
        var listener = try Listener(device: device)
        listener.source.acquire(now: boot(0))
        #expect(try listener.connect() == [.connected])
        #expect(try listener.hear(FakeGPSD.version, devices) == [])
        return listener
    }

    /// Runs until the connection is established, and accepts it on gpsd's side.
    mutating func connect() throws -> [Source.Event] {
        let events = try runUntil { events, _ in events.contains(.connected) }
        try gpsd.accept()
        #expect(gpsd.hear() == #"?WATCH={"enable":true,"json":true};"#)
        return events
    }

    /// Runs once, without waiting.
    mutating func run(at seconds: Double) -> [Source.Event] {
        now = seconds
        return source.run(now: boot(seconds))
    }

    /// Waits for the descriptor and runs, until `condition` holds; the clock stands still meanwhile.
    mutating func runUntil(_ condition: ([Source.Event], borrowing Listener) -> Bool) throws -> [Source.Event]
    {
        var events: [Source.Event] = []
        let end = monotonicSeconds() + 60
        while true {
            events += source.run(now: boot(now))
            if condition(events, self) { return events }
            try #require(monotonicSeconds() < end, "waited in vain after \(events)")
            var poll = Rest()
            poll.add(source.descriptor, read: !source.wantsWrite, write: source.wantsWrite)
            poll.wait(seconds: 1)
        }
    }

    /// Makes gpsd send these lines and waits until they have been processed, by means of a final SKY report with a
    /// unique number of visible satellites.
    mutating func hear(_ lines: String...) throws -> [Source.Event] {
        for line in lines { try gpsd.say(line) }
        let marker = (source.facts.satellitesVisible ?? 0) % 9 + 1
        try gpsd.say(skyLine(visible: marker))
        return try runUntil { $1.source.facts.satellitesVisible == marker }
    }

    /// Makes gpsd send a TPV at that moment.
    mutating func tpv(
        _ seconds: Double, at moment: Double, device: String = "/dev/gps0", mode: Int = 3
    ) throws -> [Source.Event] {
        now = moment
        return try hear(tpvLine(seconds, device: device, mode: mode))
    }

    func health(isSettled: Bool = true, repeatsSince: BootInstant? = nil) -> SourceHealth {
        source.health(now: boot(now), isSettled: isSettled, repeatsSince: repeatsSince)
    }
}

func makeSource(host: String, port: UInt16, device: String = "") throws -> Source {
    guard let source = Source(host: host, port: port, device: device) else { throw NoMemory() }
    return source
}

extension [Source.Event] {
    /// Times of the fixes, in seconds.
    var fixTimes: [Double] {
        compactMap { event in
            if case .fix(let fix) = event { fix.time.seconds(since: time(0)) } else { nil }
        }
    }

    /// The reason and delay of each disconnection.
    var losses: [(reason: String, retryIn: Double)] {
        compactMap { event in
            if case .disconnected(let reason, let delay) = event { (reason, delay) } else { nil }
        }
    }
}
