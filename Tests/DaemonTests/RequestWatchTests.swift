import Base
import DaemonConfiguration
import Envelope
import Testing

@testable import Daemon
@testable import Upload

@Suite("what is told of a request")
struct RequestWatchTests {
    private let one: UUIDv7
    private let other: UUIDv7

    init() throws {
        one = try #require(UUIDv7("0190c1a4-0000-7000-8000-000000000001"))
        other = try #require(UUIDv7("0190c1a4-0000-7000-8000-000000000002"))
    }

    @Test("attempts of the same batch are counted, and each ends once")
    func attempts() {
        var watch = RequestWatch()
        #expect(watch.end("network", now: instant(0)) == nil)
        #expect(watch.begin(one, bytes: 3, body: nil, now: instant(1)) == 1)
        #expect(
            watch.end("network", now: instant(1.25))
                == RequestRecord(batch: one, attempt: 1, milliseconds: 250, bytes: 3, outcome: "network"))
        #expect(watch.end("network", now: instant(2)) == nil)
        #expect(watch.begin(one, bytes: 3, body: "x", now: instant(3)) == 2)
        #expect(watch.end("accepted", status: 200, now: instant(2))?.milliseconds == 0)
        #expect(watch.begin(other, bytes: 3, body: nil, now: instant(4)) == 1)
        #expect(watch.end("accepted", status: 200, now: instant(4))?.body == nil)
        #expect(watch.begin(one, bytes: 3, body: nil, now: instant(5)) == 1)
    }

    private func packed(_ text: String) throws -> [UInt8] {
        // A value that cannot be copied does not go through #require.
        guard let gzip = Gzip() else { return [] }
        let bytes = gzip.compress(Array(text.utf8))
        return try #require(bytes)
    }

    @Test("a body is shown unpacked, cut, without control characters, and never with half a character")
    func bodies() throws {
        func shown(_ body: [UInt8], _ encoding: String? = nil, query: String = "") -> String {
            Request(format: .beekon, query: query, encoding: encoding, body: body).shown
        }
        #expect(shown(Array("{}".utf8)) == "{}")
        #expect(shown([], query: "id=1&lat=2") == "id=1&lat=2")
        #expect(shown(try packed("{\"a\":1}"), "gzip") == "{\"a\":1}")
        #expect(shown(Array("a\u{1B}b\n".utf8)) == "a\\u{1b}b\\u{a}")
        #expect(shown([1, 2, 3], "gzip") == "")
        let long = String(repeating: "é", count: 4000)
        #expect(shown(Array(long.utf8)).utf8.count == 4096)
        #expect(shown(Array(("x" + long).utf8)).utf8.count <= 4096)
        #expect(shown(try packed(long), "gzip").utf8.count == 4096)
        #expect(shown([UInt8](repeating: 1, count: 9000)).utf8.count <= 4096)
        #expect(shown([UInt8](repeating: 0xFF, count: 9000)).utf8.count <= 4096)
    }

    @Test("requests are counted by status, or by why there was none; no server makes endless series")
    func counts() {
        let counts = RequestCounts()
        for status in [503, 200, 200, 99, 600, 1000] { counts.add(.init(Judgement(status: status))) }
        let broker = MQTTAnswer(source: .puback, code: 135, version: .v5)
        counts.add(.init(OwnTracksMQTT.judge(broker, acceptsUnsubscribed: false)))
        counts.add(.tls)
        #expect(
            counts.counts.map { "\($0.code) \($0.count)" } == [
                "200 2", "503 1", "mqtt_135 1", "tls 1", "network 3",
            ])
    }
}
