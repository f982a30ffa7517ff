import Linux
import Support
import Testing

@testable import GPSD
@testable import Tracking

/// A socket connected to a fake gpsd.
private struct Line: ~Copyable {
    let gpsd: FakeGPSD
    var socket: Socket
    var parser: ReportParser

    static func connected() throws -> Line {
        let gpsd = try FakeGPSD()
        var line = Line(gpsd: gpsd, socket: try makeSocket(port: gpsd.port), parser: try makeParser())
        try gpsd.accept()
        try line.socket.finishConnecting()
        return line
    }

    /// Reads what there is, once. Compilers before 6.3 do not see from outside that socket and parser are two things.
    mutating func read(into reports: inout [Report]) throws -> Int {
        try socket.read(with: &parser, into: &reports)
    }

    /// Reads until `count` reports have arrived.
    mutating func reports(_ count: Int) throws -> [Report] {
        var reports: [Report] = []
        let isComplete = try wait {
            var poll = Rest()
            poll.add(socket.raw)
            poll.wait(seconds: 1)
            _ = try read(into: &reports)
            return reports.count >= count
        }
        try #require(isComplete, "only \(reports.count) of \(count) reports have come")
        return reports
    }
}

private func makeSocket(port: UInt16) throws -> Socket {
    let address = try #require(Address.inDigits(host: "127.0.0.1", port: port)?.first)
    return Socket(try address.connection())
}

@Test("lines that arrive in two pieces are read whole, wherever they are split")
func splitEverywhere() throws {
    var line = try Line.connected()
    let text = tpvLine(1) + "\r\n" + #"{"class":"DEVICES","devices":[]}"# + "\r\n"
    let expected: [Report] = [try parse(tpvLine(1)), .devices([])]
    for cut in 1..<text.utf8.count {
        try line.gpsd.send(Array(text.utf8.prefix(cut)))
        // Read whatever has arrived before the rest is sent.
        var first: [Report] = []
        var poll = Rest()
        poll.add(line.socket.raw)
        poll.wait(seconds: 60)
        let count = try line.read(into: &first)
        try #require(count == cut)
        try line.gpsd.send(Array(text.utf8.dropFirst(cut)))
        let all: [Report] = first + (try line.reports(2 - first.count))
        try #require(all == expected, "cut at \(cut)")
    }
}

@Test("lines that arrive byte by byte, together, or with a bare line feed are the same lines")
func pieces() throws {
    var line = try Line.connected()
    let expected: [Report] = [try parse(tpvLine(1)), .devices([])]
    for text in [
        tpvLine(1) + "\n" + #"{"class":"DEVICES","devices":[]}"# + "\n",
        "\r\n\r\n" + tpvLine(1) + "\r\n\n" + #"{"class":"DEVICES","devices":[]}"# + "\r\n",
    ] {
        try line.gpsd.send(Array(text.utf8))
        let together: [Report] = try line.reports(2)
        #expect(together == expected)
        for byte in text.utf8 { try line.gpsd.send([byte]) }
        let single: [Report] = try line.reports(2)
        #expect(single == expected)
    }
}

@Test(
    "a line is read up to the limit, and a longer one is skipped to its end",
    arguments: [
        (11_000, true), (Socket.lineLimit - 1, true), (Socket.lineLimit, false),
        (Socket.lineLimit + 1, false),
        (40_000, false), (200_000, false),
    ])
func longLines(size: Int, isRead: Bool) throws {
    var line = try Line.connected()
    // The line feed and carriage return count as well.
    try line.gpsd.say(skyLine(bytes: size - 2 + 1), tpvLine(1))
    let reports = try line.reports(isRead ? 2 : 1)
    let last: Report = try parse(tpvLine(1))
    #expect(reports.last == last)
    #expect(reports.count == (isRead ? 2 : 1))
    if isRead, case .sky(_, let used, let visible) = reports[0] {
        #expect(used == 1)
        #expect(visible == 100)
    }
}

@Test("garbage between messages costs only itself")
func garbageBetween() throws {
    var line = try Line.connected()
    var random = SeededGenerator(seed: 1)
    var bytes: [UInt8] = []
    for _ in 0..<50 {
        bytes += (0..<Int.random(in: 0...300, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        bytes += [0x0A] + Array(tpvLine(1).utf8) + [0x0D, 0x0A]
    }
    try line.gpsd.send(bytes + Array(#"{"class":"DEVICES","devices":[]}"#.utf8) + [0x0A])
    var reports: [Report] = []
    while reports.last != .devices([]) { reports += try line.reports(1) }
    let whole = try parse(tpvLine(1))
    #expect(reports.count { $0 == whole } == 50)
}

@Test("data that arrived before gpsd closed the connection is still read")
func closing() throws {
    var line = try Line.connected()
    try line.gpsd.say(tpvLine(1))
    line.gpsd.hangUp()
    var reports: [Report] = []
    let isClosed = wait {
        do {
            _ = try line.read(into: &reports)
            return false
        } catch {
            return (error as? SystemError)?.code == 104
        }
    }
    #expect(isClosed)
    let expected: [Report] = [try parse(tpvLine(1))]
    #expect(reports == expected)
}

@Test("a single read takes only a bounded part of a flood")
func floodIsRationed() throws {
    var line = try Line.connected()
    let flood = [UInt8](Array(repeating: tpvLine(1) + "\r\n", count: 20_000).joined().utf8)
    var sent = 0
    while sent < 300_000 {
        let count = line.gpsd.sendWhatFits(Array(flood[sent...]))
        if count == 0 { break }
        sent += count
    }
    try #require(sent > 150_000)
    var reports: [Report] = []
    let count: Int = try line.read(into: &reports)
    let limit: Int = 65_536 + Socket.lineLimit
    #expect(count <= limit)
}
