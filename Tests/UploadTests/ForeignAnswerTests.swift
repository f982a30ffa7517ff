import Base
import DaemonConfiguration
import Testing

@testable import Upload

@Suite("what the answers of foreign servers mean") struct ForeignAnswerTests {
    private static let foreign = Format.allCases.filter(\.traits.isForeign)

    private func judge(_ format: Format, _ answer: Answer) -> Judgement {
        format.judge(answer, acknowledging: FormatSamples.id, at: Timestamp(milliseconds: 0))
    }

    @Test("no status rejects a row", arguments: foreign)
    func table(format: Format) {
        for status in 100...599 {
            let expected: Verdict =
                switch status {
                case 200..<300: .accepted
                case 401, 403: .unauthorised
                case 408, 429, 500...: .transient(retryAfter: 7)
                default: .permanent
                }
            let judgement = judge(format, answer(status, "", ["Retry-After: 7"]))
            #expect(judgement.verdict == expected && judgement.status == status && judgement.doubt == nil)
        }
        #expect(judge(format, answer(413)).size == .tooLarge)
    }

    @Test("a page is not believed", arguments: foreign)
    func pages(format: Format) {
        let judgement = judge(format, answer(200, "<!DOCTYPE html><p>Login"))
        #expect(judgement.verdict == .permanent && judgement.doubt == .page)
    }

    @Test(
        "overland: the result of what is JSON must be ok",
        arguments: [
            ("{\"result\":\"ok\"}", nil), ("{\"result\":\"ok\",\"trip\":null}", nil), ("", nil), ("ok", nil),
            ("[info] stored", nil), (" \n", nil),
            ("{\"result\":\"ok\",\"saved\":1,\"trips\":0}", nil),
            ("{\"error\":\"invalid token\"}", .refused), ("{\"error\":\"no token provided\"}", .refused),
            ("[]", .refused), ("7", .refused), ("\"ok\"", .refused), ("null", .refused),
            ("{}", .refused), ("{\"saved\":2}", .refused), ("{\"result\":\"ok\"", .unread),
            ("\n{ok}", .unread),
            ("[{\"result\":\"ok\"}]", .refused), ("{\"result\":\"ok\",\"result\":\"ok\"}", .unread),
            ("{\"result\":\"error\"}", .refused), ("{\"result\":\"OK\"}", .refused),
            ("{\"result\":true}", .refused),
            ("{\"result\":null}", .refused), ("\u{FEFF} {\"result\":\"error\"}", .refused),
            ("{\"result\":\"ok\",\"result\":\"error\"}", .unread), ("<html>", .page),
        ] as [(String, Doubt?)])
    func results(body: String, doubt: Doubt?) {
        for status in [200, 201] {
            let judgement = judge(.overland, answer(status, body))
            #expect(judgement.doubt == doubt)
            #expect(judgement.verdict == (doubt == nil ? .accepted : .permanent))
        }
        #expect(judge(.overland, answer(500, body)).verdict == .transient(retryAfter: nil))
    }

    @Test("overland: an object that cannot be read to its end is a doubt, and so is what is compressed")
    func unread() {
        let body = "{\"result\":\"ok\"}"
        let coding = ["Content-Encoding: gzip"]
        #expect(judge(.overland, answer(200, body, coding)).doubt == .unread)
        #expect(judge(.overland, answer(200, "\u{1F}x", coding)).doubt == .unread)
        #expect(judge(.overland, answer(200, "", coding)).doubt == nil)
        #expect(judge(.overland, answer(200, body, isCut: true)).doubt == .unread)
        #expect(judge(.overland, answer(200, "stored {", isCut: true)).doubt == nil)
    }

    @Test("overland: what is believed without a word is marked, and what the server says it has saved")
    func silence() {
        for (body, isSilent, saved) in [
            ("", true, nil), ("ok", true, nil), ("{\"result\":\"ok\"}", false, nil),
            ("{\"result\":\"ok\",\"saved\":3}", false, 3),
            ("{\"result\":\"ok\",\"saved\":\"3\"}", false, nil),
            ("{\"result\":\"ok\",\"saved\":99999999999999999999}", false, nil),
            ("{\"result\":\"ok\",\"saved\":1.5}", false, nil), ("{}", false, nil),
        ] as [(String, Bool, Int?)] {
            let judgement = judge(.overland, answer(200, body))
            #expect(judgement.isSilent == isSilent && judgement.saved == saved, "\(body)")
            #expect(!judge(.overland, answer(500, body)).isSilent)
        }
    }

    @Test("overland: what is demanded must be there")
    func demanded() {
        func doubt(_ body: String, _ member: String) -> Doubt? {
            Format.overland.judge(
                answer(200, body), acknowledging: nil, saying: Acceptance(member: member, values: ["ok"]),
                at: Timestamp(milliseconds: 0)
            ).doubt
        }
        #expect(doubt("", "result") == .refused && doubt("ok", "result") == .unread)
        #expect(doubt("{\"result\":\"ok\"}", "result") == nil)
        #expect(doubt("{\"result\":\"ok\"}", "state") == .refused)
        #expect(doubt("{\"result\":\"no\",\"state\":\"ok\"}", "state") == nil)
    }

    @Test("a command or a list of friends in the body is no refusal")
    func bodies() {
        #expect(judge(.osmand, answer(200, "{\"result\":\"error\"}")).verdict == .accepted)
        #expect(judge(.owntracks, answer(200, "[{\"_type\":\"cmd\"}]")).verdict == .accepted)
    }

    @Test("what each format is like")
    func kinds() {
        #expect(
            Format.allCases.filter { $0.traits.geofenceEvents != .never } == [.beekon, .template, .owntracks])
        #expect(Format.allCases.filter(\.traits.isOneRow) == [.owntracks, .osmand])
        #expect(Self.foreign == [.overland, .owntracks, .osmand])
    }

    // MARK: Advice

    @Test("advice for every status: what happened, and what to do", arguments: Format.allCases)
    func advice(format: Format) {
        for status in Array(300...599) {
            let text = format.advice(.status(status))
            #expect(text.contains("\(status)") && text.hasSuffix("."), "\(text)")
            #expect(text.utf8.count <= 400 && (text.contains(":") || text.contains(". ")), "\(text)")
        }
        for cause in [
            .doubt(.page), .doubt(.phpError), .doubt(.noAck), .doubt(.refused), .doubt(.unread), .closed,
        ] as [Format.Cause] {
            let text = format.advice(cause)
            #expect(text.hasSuffix(".") && text.utf8.count <= 400, "\(text)")
        }
    }

    @Test(
        "the likely cause is named",
        arguments: [
            (.osmand, .status(400), ["Traccar", "device_id", "PhoneTrack", "quota"]),
            (.osmand, .status(405), ["PhoneTrack", "/log/traccar/"]),
            (.osmand, .status(422), ["Home Assistant", "webhook"]), (.osmand, .status(404), ["5055"]),
            (.osmand, .closed, ["tracker-server.log", "5055"]), (.owntracks, .closed, ["5144"]),
            (.owntracks, .status(400), ["Traccar", "owntracks/USER/DEVICE", "quota"]),
            (.owntracks, .status(404), ["/pub", "/api/webhook/ID"]),
            (.owntracks, .status(401), ["api_key", "username", "password", "headers"]),
            (.overland, .status(401), ["Dawarich", "API key"]),
            (.overland, .status(402), ["Dawarich"]), (.overland, .status(403), ["PhoneTrack", "token"]),
            (.overland, .status(404), ["/api/v1/overland/batches", "/api/overland"]),
            (.overland, .status(429), ["10,000"]), (.overland, .doubt(.refused), ["result", "Compass"]),
            (.template, .doubt(.refused), ["accept_member"]), (.beekon, .doubt(.unread), ["64 KiB"]),
            (.overland, .status(413), ["batch_size"]), (.beekon, .status(422), ["beekonctl rejected list"]),
            (.beekon, .status(301), ["redirects", "https"]), (.overland, .doubt(.page), ["portal"]),
        ] as [(Format, Format.Cause, [String])])
    func causes(format: Format, cause: Format.Cause, words: [String]) {
        for word in words { #expect(format.advice(cause).contains(word), "\(format.advice(cause))") }
    }

    @Test("a cause is what the judgement says") func judged() {
        #expect(Format.Cause(Judgement(status: 201)) == nil)
        #expect(Format.Cause(Judgement(status: 404)) == .status(404))
        #expect(Format.Cause(Judgement(status: 200, doubt: .refused)) == .doubt(.refused))
    }
}
