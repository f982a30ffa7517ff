import ControlProtocol
import Testing

@Suite("replies")
struct ReplyTests {
    private static let errors: [(ControlError, name: String, body: String)] = [
        (
            .storageFailure(reason: "disk full"), "org.beekond.Tracker.StorageFailure",
            "\"reason\":\"disk full\""
        ),
        (.locationUnavailable(reason: "x"), "org.beekond.Tracker.LocationUnavailable", "\"reason\":\"x\""),
        (
            .invalidConfiguration(key: "a.b", reason: "x"), "org.beekond.Tracker.InvalidConfiguration",
            "\"key\":\"a.b\",\"reason\":\"x\""
        ),
        (
            .invalidGeofence(id: "home", reason: "x"), "org.beekond.Tracker.InvalidGeofence",
            "\"id\":\"home\",\"reason\":\"x\""
        ),
        (.invalidTime(value: "soon"), "org.beekond.Tracker.InvalidTime", "\"value\":\"soon\""),
        (.tooMany(limit: 1000), "org.beekond.Tracker.TooMany", "\"limit\":1000"),
        (
            .rateLimited(retryAfterSeconds: 7), "org.beekond.Tracker.RateLimited",
            "\"retry_after_seconds\":7"
        ),
        (.interfaceNotFound("a.b"), "org.varlink.service.InterfaceNotFound", "\"interface\":\"a.b\""),
        (.methodNotFound("a.B"), "org.varlink.service.MethodNotFound", "\"method\":\"a.B\""),
        (.methodNotImplemented("a.B"), "org.varlink.service.MethodNotImplemented", "\"method\":\"a.B\""),
        (.invalidParameter("ids"), "org.varlink.service.InvalidParameter", "\"parameter\":\"ids\""),
        (.permissionDenied, "org.varlink.service.PermissionDenied", ""),
        (.denied(reason: "root"), "org.varlink.service.PermissionDenied", "\"reason\":\"root\""),
        (.expectedMore, "org.varlink.service.ExpectedMore", ""),
        (.other(name: "a.B", parameters: ["x": .bool(true)]), "a.B", "\"x\":true"),
    ]

    @Test("every error survives a round trip with its name and values", arguments: errors)
    func mapping(error: ControlError, name: String, body: String) throws {
        let bytes = Reply.encode(error)
        #expect(
            String(decoding: bytes, as: UTF8.self) == "{\"error\":\"\(name)\",\"parameters\":{\(body)}}\0")
        let reply = try Reply(decoding: bytes.dropLast())
        #expect(reply.error == error)
        #expect(throws: error) { try reply.result(of: Wire.Stop.self) }
    }

    @Test("an error without its parameters is still that error")
    func bareError() throws {
        let reply = try Reply(decoding: Array("{\"error\":\"org.beekond.Tracker.InvalidTime\"}".utf8))
        #expect(reply.error == .invalidTime(value: ""))
    }

    @Test("a result, a continued one, and an empty one")
    func results() throws {
        let bytes = try Reply.encode(Wire.Stop.self, .init(state: .stopped), continues: true)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "{\"continues\":true,\"parameters\":{\"state\":\"stopped\"}}\0")
        let reply = try Reply(decoding: bytes.dropLast())
        #expect(reply.continues)
        #expect(try reply.result(of: Wire.Stop.self).state == .stopped)

        let empty = try Reply.encode(Wire.AddGeofences.self, .init())
        #expect(String(decoding: empty, as: UTF8.self) == "{\"parameters\":{}}\0")
        #expect(try Reply(decoding: Array("{}".utf8)).result(of: Wire.AddGeofences.self) == Wire.Empty())
        #expect(try Reply(decoding: Array("{}".utf8)).result(of: Wire.Reload.self).adopting == nil)
    }

    @Test("an older client ignores what a newer daemon adds")
    func unknownMembers() throws {
        let text = "{\"parameters\":{\"count\":3,\"bytes\":9},\"org.example.trace\":{\"id\":1}}"
        let reply = try Reply(decoding: Array(text.utf8))
        #expect(try reply.result(of: Wire.GetPendingUploadCount.self).count == 3)
    }

    @Test("a result that does not fit says what is missing")
    func misfit() throws {
        let reply = try Reply(decoding: Array("{\"parameters\":{\"count\":\"3\"}}".utf8))
        #expect(throws: ProtocolViolation.malformed("parameters.count has the wrong type")) {
            try reply.result(of: Wire.GetPendingUploadCount.self)
        }
        #expect(throws: ProtocolViolation.self) { try Reply(decoding: Array("[1]".utf8)) }
    }

    @Test("numbers that JSON cannot represent are an error, not text")
    func notFinite() {
        #expect(throws: (any Error).self) {
            try Reply.encode(
                Wire.GetSessions.self,
                .init(sessions: [.init(id: "", startedAt: "", locations: 0, distanceMeters: .infinity)]))
        }
    }
}
