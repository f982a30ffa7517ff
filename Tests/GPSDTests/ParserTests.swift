import Support
import Testing

@testable import GPSD
@testable import Tracking

@Test(
    "what gpsd says, in the words of the parser",
    arguments: [
        (FakeGPSD.version, .version),
        (devicesLine, .devices(["/dev/gps0"])),
        (#"{"class":"DEVICES","devices":[]}"#, .devices([])),
        (devicesLine("/dev/gps0", "udp://0.0.0.0:2951"), .devices(["/dev/gps0", "udp://0.0.0.0:2951"])),
        (
            devicesLine("/dev/gps0", String(repeating: "x", count: 200), "/dev/gps1"),
            .devices(["/dev/gps0"])
        ),
        (skyLine(visible: 3, device: "/dev/gps7"), .sky(device: "/dev/gps7", used: 0, visible: 3)),
        (skyLine(visible: 4), .sky(device: "", used: 0, visible: 4)),
        (
            #"{"class":"DEVICE","path":"/dev/gps0","activated":0}"#,
            .device(path: "/dev/gps0", isActive: false)
        ),
        (
            #"{"class":"DEVICE","path":"/dev/gps0","activated":"2027-03-15T08:00:00.000Z","driver":"u-blox"}"#,
            .device(path: "/dev/gps0", isActive: true)
        ),
        (#"{"class":"WATCH","enable":true,"json":true}"#, .other),
        (#"{"class":"ERROR","message":"Can't perform DEVICE configuration"}"#, .other),
        (#"{"class":"POLL","time":"2027-03-15T08:00:00.000Z","active":0,"tpv":[],"sky":[]}"#, .other),
        (#"{"class":"GST","device":"/dev/gps0","rms":1.0}"#, .other),
    ] as [(String, Report)])
func messages(line: String, expected: Report) throws {
    #expect(try parse(line) == expected)
}

@Test("satellites are counted")
func satellites() throws {
    guard case .sky(let device, let used, let visible) = try parse(skyLine(bytes: 1000)) else {
        Issue.record("no SKY")
        return
    }
    #expect(device == "/dev/gps0")
    #expect(used == 1)
    #expect(visible > 10)
}

@Test(
    "garbage is a message without meaning",
    arguments: [
        "", "{", "}", "garbage", "{}", "[]", "\u{1}\u{2}\u{7F}", "{\"class\":", #"{"class":"TPV""#,
        #"{"class":"TPV","device":"/dev/gps0","mode":3,"time":"2027-03-15T08:00:00.000Z","lat":5"#,
        #"{"class":"TPV","mode":"three"}"#, #"{"class":"TPV","lat":[[[[[[[[1]]]]]]]]}"#,
        #"{"class":"DEVICES","devices":[{"#, #"{"class":"SKY","satellites":[{"PRN":"#,
        "$GPRMC,092750.000,A,5321.6802,N,00630.3372,W,0.02,31.66,280511,,,A*43",
    ])
func garbage(line: String) throws {
    #expect(try parse(line) == .other)
}

@Test("a message truncated anywhere harms neither the parser nor the next message")
func cutAnywhere() throws {
    var parser = try makeParser()
    let whole = tpvLine(0, fields: #""speed":5.0,"track":7.0"#)
    let expected = parser.parse(whole)
    for line in [whole, devicesLine, skyLine(bytes: 600), FakeGPSD.version] {
        for end in 0..<line.utf8.count {
            let report = parser.parse(String(decoding: line.utf8.prefix(end), as: UTF8.self))
            if line == whole { try #require(report == .other, "cut at \(end): digits may be missing") }
        }
        try #require(parser.parse(whole) == expected)
    }
}

@Test(
    "a message with random bytes in it harms neither the parser nor the next message",
    arguments: [UInt64(1), 2])
func damagedAnywhere(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var parser = try makeParser()
    let whole = tpvLine(0, fields: #""speed":5.0,"track":7.0"#)
    let expected = parser.parse(whole)
    for line in [whole, devicesLine, skyLine(bytes: 600)] {
        for _ in 0..<500 {
            var bytes = Array(line.utf8)
            for _ in 0...3 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: 1...127, using: &random)
            }
            _ = parser.parse(String(decoding: bytes, as: UTF8.self))
        }
        try #require(parser.parse(whole) == expected, "seed \(seed)")
    }
}
