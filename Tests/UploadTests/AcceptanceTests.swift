import Base
import DaemonConfiguration
import Testing

@testable import Upload

@Suite("the member that says that a batch was taken") struct AcceptanceTests {
    private func doubt(_ body: String, _ member: String, _ values: [String]) -> Doubt? {
        Acceptance(member: member, values: values).doubt(answer(200, body))
    }

    @Test(
        "a text by its content, other values as they are written",
        arguments: [
            ("{\"a\":\"ok\"}", "a", "ok", nil), ("{\"a\":\"o\\u006b\"}", "a", "ok", nil),
            ("{\"a\":\"OK\"}", "a", "ok", .refused), ("{\"a\":7}", "a", "7", nil),
            ("{\"a\":7.0}", "a", "7", .refused), ("{\"a\":7.0}", "a", "7.0", nil),
            ("{\"a\":\"7\"}", "a", "7", nil),
            ("{\"a\":-0}", "a", "-0", nil), ("{\"a\":1E2}", "a", "1E2", nil),
            ("{\"a\":false}", "a", "false", nil),
            ("{\"a\":null}", "a", "null", nil), ("{\"a\":\"\"}", "a", "", nil),
            ("{\"a\":\"null\"}", "a", "null", nil),
            ("{\"a\":{}}", "a", "{}", .refused), ("{\"a\":[\"ok\"]}", "a", "ok", .refused),
            ("{\"b\":\"ok\"}", "a", "ok", .refused), ("{}", "a", "null", .refused), ("", "a", "", .refused),
        ] as [(String, String, String, Doubt?)])
    func values(body: String, member: String, value: String, expected: Doubt?) {
        #expect(doubt(body, member, [value]) == expected)
        #expect(doubt(body, member, ["other", value]) == expected)
        #expect(doubt(body, member, ["other"]) != nil)
    }

    @Test(
        "a dot path; a number is an index of an array, or the name of a member",
        arguments: [
            ("{\"a\":{\"b\":\"ok\"}}", "a.b", nil), ("[{\"b\":\"ok\"}]", "0.b", nil),
            ("{\"a\":[1,\"ok\"]}", "a.1", nil), ("{\"a\":[\"ok\"]}", "a.1", .refused),
            ("{\"a\":[\"ok\"]}", "a.-1", .refused), ("{\"a\":{\"0\":\"ok\"}}", "a.0", nil),
            ("{\"a.b\":\"ok\"}", "a.b", .refused), ("\"ok\"", "a", .refused), ("[\"ok\"]", "a", .refused),
        ] as [(String, String, Doubt?)])
    func paths(body: String, member: String, expected: Doubt?) {
        #expect(doubt(body, member, ["ok"]) == expected)
    }

    @Test(
        "a name that is there twice cannot be read, another's is no harm",
        arguments: [
            ("{\"a\":\"ok\",\"a\":\"ok\"}", "a", .unread),
            ("{\"a\":\"no\",\"\\u0061\":\"ok\"}", "a", .unread),
            ("{\"a\":\"ok\",\"b\":1,\"b\":2}", "a", nil),
            ("{\"b\":{\"a\":1,\"a\":2},\"a\":\"ok\"}", "a", nil),
            ("{\"a\":\"ok\",\"a\":\"ok\",\"a\":\"ok\"}", "a", .unread),
            ("{\"b\":1,\"b\":1}", "a", .refused), ("{\"a\":\"no\",\"b\":1,\"b\":1}", "a", .refused),
            ("{\"a\":{\"b\":\"ok\",\"b\":\"ok\"}}", "a.b", .unread),
            ("{\"a\":{\"b\":\"ok\"},\"a\":{\"c\":1}}", "a.b", .unread),
            ("{\"a\":{\"c\":1},\"a\":{\"b\":\"ok\"}}", "a.b", .unread),
            ("[{\"b\":\"ok\",\"b\":\"ok\"}]", "0.b", .unread),
            ("{\"a\":{\"c\":1,\"c\":1}}", "a.b", .refused),
        ] as [(String, String, Doubt?)])
    func twice(body: String, member: String, expected: Doubt?) {
        #expect(doubt(body, member, ["ok"]) == expected)
    }

    @Test("what cannot be read to its end says nothing")
    func unread() {
        let acceptance = Acceptance(member: "a", values: ["ok"])
        let body = "{\"a\":\"ok\"}"
        #expect(acceptance.doubt(answer(200, body)) == nil)
        #expect(acceptance.doubt(answer(200, body, ["Content-Encoding: gzip"])) == .unread)
        #expect(acceptance.doubt(answer(200, body, isCut: true)) == .unread)
        #expect(acceptance.doubt(answer(200, "", ["Content-Encoding: gzip"])) == .refused)
        for end in ["", "x", ",", "{}"] {
            #expect(acceptance.doubt(answer(200, body.dropLast() + end)) == .unread)
        }
        let deep = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
        #expect(acceptance.doubt(answer(200, "{\"a\":\"ok\",\"b\":\(deep)}")) == .unread)
        #expect(acceptance.doubt(answer(200, "ok")) == .unread)
    }

    @Test(
        "beside an acknowledgement, for the formats beekon and template",
        arguments: [Format.beekon, .template])
    func both(format: Format) {
        let acceptance = Acceptance(member: "a", values: ["ok"])
        let id = FormatSamples.id
        func doubt(_ body: String, acknowledging id: UUIDv7?) -> Doubt? {
            format.judge(
                answer(200, body), acknowledging: id, saying: acceptance, at: Timestamp(milliseconds: 0)
            ).doubt
        }
        #expect(doubt("{\"a\":\"ok\"}", acknowledging: nil) == nil)
        #expect(doubt("{\"a\":\"ok\"}", acknowledging: id) == .noAck)
        #expect(doubt("{\"batch_id\":\"\(id)\"}", acknowledging: id) == .refused)
        #expect(doubt("{\"batch_id\":\"\(id)\",\"a\":\"ok\"}", acknowledging: id) == nil)
        #expect(
            doubt("{\"batch_id\":\"\(id)\",\"batch_id\":\"\(id)\",\"a\":\"ok\"}", acknowledging: id) == .noAck
        )
        #expect(doubt("<html>", acknowledging: nil) == .page)
    }

    @Test("what the settings demand")
    func settings() {
        var sync = Settings.Sync()
        #expect(Acceptance(sync) == nil && !sync.demandsAcceptance)
        sync.acceptMember = "error"
        sync.acceptValues = ["false"]
        #expect(Acceptance(sync) == Acceptance(member: "error", values: ["false"]) && sync.demandsAcceptance)
        sync.acceptMember = nil
        sync.requireAck = true
        #expect(sync.demandsAcceptance)
    }

    @Test("what an unread answer leaves open is not dissolved")
    func open() {
        for doubt in [Doubt.phpError, .noAck, .unread] { #expect(doubt.leavesOpen) }
        for doubt in [Doubt.page, .refused] { #expect(!doubt.leavesOpen) }
        #expect(DrainOutcome.Failure(.unread) == .refused && DrainOutcome.Failure(.refused) == .refused)
        #expect(DrainOutcome.Failure(.phpError).rawValue == "php_error")
    }
}
