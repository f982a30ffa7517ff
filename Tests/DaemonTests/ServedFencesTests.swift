import Base
import Testing
import Tracking

@testable import Daemon
@testable import Storage

@Suite("geofences from before they remembered whose they are") struct ServedFencesTests {
    private func record(
        _ name: String, text: String? = nil, received: Int64, done: Int64?
    ) throws -> CommandRecord {
        CommandRecord(
            seq: 1, digest: [1], destination: .main, id: "c",
            batch: try #require(UUIDv7("01900000-0000-7000-8000-000000000001")), name: name,
            text: text, receivedAt: Timestamp(milliseconds: received), counter: nil, expiresAt: nil,
            doneAt: done.map { Timestamp(milliseconds: $0) }, outcome: CommandOutcome(), isSent: false)
    }

    @Test(
        "a server's are those that a command names that has yet to be run, and those added while one was run")
    func found() throws {
        let text = #"""
            {"arguments":{"geofences":[{"id":"named","latitude":1,"longitude":2,"radius_meters":3}]},\#
            "command":"add_geofences","digest":"0123456789abcdef0123456789abcdef","id":"c"}
            """#
        let served = ServedFences([
            try record("add_geofences", text: text, received: 5000, done: nil),
            try record("addGeofence", received: 1000, done: 2000),
        ])
        func isServers(_ id: String, addedAt: Int64?) throws -> Bool {
            served.added(
                Geofences.Item(
                    key: 1, fence: try Geofence(id: id, latitude: 1, longitude: 2, radius: 3),
                    addedAt: addedAt.map { Timestamp(milliseconds: $0) }))
        }
        #expect(try isServers("named", addedAt: nil))
        #expect(try isServers("other", addedAt: 1000) && isServers("other", addedAt: 2000))
        #expect(try !isServers("other", addedAt: 999) && !isServers("other", addedAt: 2001))
        #expect(try !isServers("other", addedAt: nil) && !isServers("other", addedAt: 6000))
    }
}
