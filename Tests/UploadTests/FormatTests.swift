import Base
import Envelope
import Support
import Testing

@testable import DaemonConfiguration
@testable import Upload

@Suite("requests are made in one place")
struct RequestFactoryTests {
    private var factory: RequestFactory {
        var sync = Settings.Sync()
        sync.url = "https://api.example.com/up"
        sync.caFile = "/ca"
        sync.headers = [
            Settings.Field(name: "authorization", value: Secret("Basic x")),
            Settings.Field(name: "X-Empty", value: Secret("")),
        ]
        return RequestFactory(sync, version: "1.2.3")
    }

    @Test("a frozen batch becomes the request that its format once made")
    func frozen() throws {
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        let device = Device(installID: "i", platform: "linux", version: "1", model: nil)
        var format = BeekonFormat(device: device)
        let batch = format.request(
            batch: id, session: id, sentAt: Timestamp(milliseconds: 0), extras: nil, locations: [])
        let made = try #require(batch)
        #expect(made == BeekonFormat.request(body: made.body))
        #expect(Format(rawValue: "beekon") == made.format)
        #expect(made.body.starts(with: [0x1F, 0x8B]))
    }

    @Test("a token replaces a header of that name, in whatever case")
    func authorization() {
        var request = BeekonFormat.request(body: [])
        let plain = factory.options(for: request, authorization: nil)
        let base = ["Content-Type: application/json", "Content-Encoding: gzip"]
        #expect(plain.headers == base + ["authorization: Basic x", "X-Empty;"])
        #expect(plain.url == "https://api.example.com/up")
        #expect(plain.caFile == "/ca")
        #expect(plain.userAgent == "beekond/1.2.3")
        #expect(plain.method == .post)
        request.query = "v=1"
        request.encoding = nil
        let authorised = factory.options(for: request, authorization: "Bearer t")
        #expect(authorised.url == "https://api.example.com/up?v=1")
        #expect(
            authorised.headers == ["Content-Type: application/json", "X-Empty;", "Authorization: Bearer t"])
    }

    @Test("a login over HTTP is a header, and TLS sessions are forgotten with it")
    func login() {
        func sync(_ password: String?, mqtt: Settings.MQTT? = nil) -> Settings.Sync {
            var sync = Settings.Sync()
            let secret = password.map { Secret($0) }
            sync.format = .owntracks(
                Settings.OwnTracks(
                    deviceID: "d", username: Secret("Aladdin"), password: secret, mqtt: mqtt))
            return sync
        }
        let request = OwnTracksFormat(user: "Aladdin", deviceID: "d").request(
            FormatSamples.bare, sentAt: FormatSamples.sentAt)
        func logins(_ sync: Settings.Sync) -> [String] {
            let options = RequestFactory(sync, version: "1").options(for: request, authorization: nil)
            return options.headers.filter { $0.hasPrefix("Authorization") }
        }
        // The example of RFC 7617.
        #expect(logins(sync("open sesame")) == ["Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        #expect(logins(sync(nil)) == [] && logins(sync("x", mqtt: Settings.MQTT())) == [])
        #expect(SessionIdentity(sync("a")) != SessionIdentity(sync("b")))
    }

    @Test("a format's own headers go along, unless the configuration has them")
    func ownHeaders() {
        let request = OwnTracksFormat(user: "u", deviceID: "d").request(
            FormatSamples.bare, sentAt: FormatSamples.sentAt)
        let own = ["Content-Type: application/json", "X-Limit-U: u", "X-Limit-D: d"]
        #expect(
            factory.options(for: request, authorization: nil).headers == own + [
                "authorization: Basic x", "X-Empty;",
            ])
        var factory = factory
        factory.headers = [("x-limit-u", "other")]
        #expect(
            factory.options(for: request, authorization: nil).headers == [own[0], own[2], "x-limit-u: other"])
    }

    @Test(
        "a batch that does not say which it is has a header for that, and the method that it was frozen with")
    func key() throws {
        let id = FormatSamples.id
        var factory = factory
        factory.headers = []
        for format in Format.allCases {
            let request = Request(format: format, method: .put, contentType: "application/json", body: [])
            let options = factory.options(for: request, of: id, authorization: nil)
            let own = format == .beekon ? [] : ["Idempotency-Key: 0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"]
            #expect(options.headers == ["Content-Type: application/json"] + own)
            #expect(options.method == .put)
            #expect(factory.options(for: request, authorization: nil).headers.count == 1)
        }
    }

    @Test("an exchange goes to the token endpoint, with none of the headers of a batch")
    func exchange() throws {
        let rules = RefreshRules(
            url: "https://id.example.com/token", payload: [.init(name: "t", template: "{refreshToken}")],
            headers: [.init(name: "X-Id", template: "7")], isJSON: false, mapping: TokenMapping())
        let options = factory.options(for: try #require(TokenRequest(rules, Tokens(refresh: "r0"))))
        #expect(options.url == "https://id.example.com/token")
        #expect(
            options.headers == [
                "Content-Type: application/x-www-form-urlencoded", "Accept: application/json", "X-Id: 7",
            ])
        #expect(options.timeout == 15)
        #expect(options.caFile == "/ca")
    }

    @Test("an answer is judged by its format: size, belief and patience")
    func judgement() throws {
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        func judge(_ status: Int, _ body: String = "", _ head: [String] = []) -> Judgement {
            var (answerHead, start) = (AnswerHead(), AnswerBody())
            for line in head { Array((line + "\r\n").utf8).withUnsafeBytes { _ = answerHead.read($0) } }
            start.append(body.utf8)
            let answer = Answer(status: status, answerHead, start, isCut: false, text: Array(body.utf8))
            return Format.beekon.judge(answer, acknowledging: id, at: Timestamp(milliseconds: 0))
        }
        #expect(judge(200, "{\"batch_id\":\"\(id)\"}").verdict == .accepted)
        #expect(judge(200, "{}") == Judgement(status: 200, doubt: .noAck))
        #expect(judge(200, "<html>").doubt == .page)
        #expect(judge(404, "<html>").doubt == nil)
        #expect(judge(503, "", ["Retry-After: 9"]).verdict == .transient(retryAfter: 9))
        #expect([408, 413, 500].map { judge($0).size } == [.tooSlow, .tooLarge, .irrelevant])
    }
}
