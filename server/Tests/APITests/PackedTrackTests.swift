import Base
import EnvelopeReader
import ServerStore
import Testing

@testable import API

@Suite("what the page reads") struct PackedTrackTests {
    func row(_ milliseconds: Int64, _ change: (inout LocationRow) -> Void = { _ in }) -> LocationRow {
        guard let id = UUIDv7("01900000-0000-7000-8000-000000000001") else { fatalError("an id is none") }
        var row = LocationRow(
            id: id, time: Timestamp(milliseconds: milliseconds),
            latitude: 48.5, longitude: -11.25, codes: Codes(rawValue: 0x5A))
        change(&row)
        return row
    }

    @Test("a location is 22 bytes") func layout() {
        var bytes: [UInt8] = []
        PackedTrack.append(
            [
                row(1000) {
                    $0.speed = 12.25; $0.bearing = 90; $0.altitude = 520.1; $0.accuracy = 4.5
                },
                row(2000),
            ], to: &bytes)
        #expect(bytes.count == 12 + 2 * 22)
        #expect(Array(bytes[..<4]) == [2, 0, 0, 0])
        #expect(Array(bytes[12..<16]) == [0, 0, 0, 0] && Array(bytes[34..<38]) == [0xE8, 3, 0, 0])
        let first = Array(bytes[16..<34])
        #expect(first.prefix(4).elementsEqual([0x40, 0x83, 0xE8, 0x1C]))
        // Altitude 1040 half metres, 1225 cm/s, 9000, 45 dm, codes.
        #expect(first.suffix(10).elementsEqual([0x10, 4, 0xC9, 4, 0x28, 0x23, 45, 0, 0x5A, 0]))
        #expect(bytes.suffix(10).elementsEqual([0, 0x80, 255, 255, 255, 255, 255, 255, 0x5A, 0]))
    }

    @Test("times that do not fit begin a block of their own") func blocks() {
        var bytes: [UInt8] = []
        PackedTrack.append([row(0), row(1 << 32), row((1 << 32) + 5)], to: &bytes)
        #expect(bytes.count == 2 * 12 + 3 * 22)
        #expect(bytes[34] == 2)
    }

    @Test(
        "what does not fit is the nearest that does",
        arguments: [(70_000.0, 65_534), (-1, 0), (.nan, 0), (.infinity, 65_534), (12.5, 13), (0.6, 1)])
    func nearest(value: Double, whole: UInt16) {
        #expect(PackedTrack.whole(value, 0...UInt16.max - 1) == whole)
    }

    @Test("a compact stream tells moves as numbers, and the rest in full") func compact() {
        var device = DeviceState(id: 17, name: "van\n", created: Timestamp(milliseconds: 0))
        device.seen = Timestamp(milliseconds: 10_000)
        device.latest = row(9000) { $0.speed = 1.26 }
        let moved = LiveText.News(device: device, isMoveAlone: true)
        let full = LiveText.News(device: device, isMoveAlone: false)
        let text = String(decoding: LiveText.events([moved, full], in: .compact), as: UTF8.self)
        #expect(text.hasPrefix("event: device\ndata: {\"id\":17,"))
        #expect(
            text.hasSuffix(
                "\n\nevent: moves\ndata: {\"at\":10000,\"moves\":[[17,0,-1000,48.5,-11.25,1.3,null,90]]}\n\n")
        )
        let all = String(decoding: LiveText.events([moved, full], in: .full), as: UTF8.self)
        #expect(!all.contains("moves") && all.split(separator: "\n\n").count == 2)
    }

    @Test("forms of the stream") func forms() throws {
        #expect(try LiveHub.Form(nil) == .full && LiveHub.Form("form=compact") == .compact)
        #expect(throws: Problem.self) { try LiveHub.Form("form=x") }
        #expect(throws: Problem.self) { try LiveHub.Form("form=compact&x=1") }
    }
}
