import Support
import Testing

@testable import Upload

@Suite("what a token endpoint answers")
struct TokenAnswerTests {
    private func answer(_ body: String, _ mapping: TokenMapping = TokenMapping()) -> TokenAnswer? {
        TokenAnswer(Array(body.utf8), mapping: mapping)
    }

    @Test(
        "the tokens are found by the mapping, then by the usual names",
        arguments: [
            (#"{"access_token":"a"}"#, "a", nil), (#"{"accessToken":"a"}"#, "a", nil),
            (#"{"token":"a"}"#, "a", nil),
            (#"{"token":"c","accessToken":"b","access_token":"a"}"#, "a", nil),
            (#"{"access_token":"a","refresh_token":"r"}"#, "a", "r"),
            (#"{"access_token":"a","refreshToken":"r"}"#, "a", "r"),
            (#"{"access_token":"a","refresh_token":""}"#, "a", nil),
            (#"{"access_token":"a","refresh_token":null,"refreshToken":"r"}"#, "a", "r"),
            (#"{"access_token":5,"token":"a"}"#, "a", nil),
            (" \r\n\t{\"access_token\" : \"\\u0061\\n\\\"\" , \"token\":\"\\ud83d\\ude00\\/\"}\n", "😀/", nil),
            ("\u{FEFF}{\"token\":\"a\"}", "a", nil), (#"{"token":"b","token":"a"}"#, "a", nil),
            (#"{"token":"tök en"}"#, "tök en", nil),
        ] as [(String, String, String?)])
    func tokens(body: String, access: String, refresh: String?) throws {
        let found = try #require(answer(body))
        #expect(found.access == access)
        #expect(found.refresh == refresh)
    }

    @Test("a path leads through objects and arrays; one that leads nowhere is no harm")
    func mapping() throws {
        let body =
            #"{"token":"no","d":{"x.y":1,"list":[{"t":"a"},{"t":"b"}],"r":"r","at":1800000000,"in":"60"}}"#
        var mapping = TokenMapping(accessToken: "d.list.1.t", refreshToken: "d.r", expiresAt: "d.at")
        let found = try #require(answer(body, mapping))
        #expect(found.access == "b" && found.refresh == "r" && found.expiry == .at(1_800_000_000))
        mapping.expiresAt = nil
        mapping.expiresIn = "d.in"
        #expect(answer(body, mapping)?.expiry == .within(60))
        for path in [
            "d.list.2.t", "d.list.-1.t", "d.list.x", "d", "nothing.at.all", "token.t",
            "d.list.99999999999999999999",
        ] {
            #expect(answer(body, TokenMapping(accessToken: path))?.access == "no", "\(path)")
        }
    }

    @Test(
        "everything else has no token in it",
        arguments: [
            "", " ", "null", "5", "\"a\"", "[]", "{}", "{", "}", "{]", "[}", #"{"token":"a"}}"#,
            #"{"token":"a"} x"#,
            #"{"token":"a",}"#, #"{"token" "a"}"#, #"{"token":'a'}"#, #"{token:"a"}"#, #"{"token":"a"#,
            #"{"token":"a\"#,
            #"{"token":"\ud83d"}"#, #"{"token":"\ude00"}"#, #"{"token":"\ud83dx"}"#, #"{"token":"\u12"}"#,
            #"{"token":"\x"}"#, "{\"token\":\"a\nb\"}", #"{"token":"a\nb"}"#, #"{"token":"a\r\nHost: b"}"#,
            #"{"token":"\u0000"}"#, #"{"token":"a\u2028"}"#, #"{"token":""}"#, #"{"token":null}"#,
            #"{"token":true}"#,
            #"{"token":["a"]}"#, #"{"token":{"a":"b"}}"#, #"{"token":01}"#, #"{"token":1.}"#, #"{"token":-}"#,
            #"{"token":1e}"#, #"{"token":"a","x":tru}"#, #"{"token":"a","x":nul"#, "<html>token</html>",
            "access_token=a&expires_in=5",
        ])
    func nothing(body: String) {
        #expect(answer(body) == nil)
    }

    @Test("invalid UTF-8, too many bytes and too many levels are no answer")
    func bounds() {
        let token = Array(#"{"token":"a"}"#.utf8)
        #expect(TokenAnswer(token, mapping: TokenMapping()) != nil)
        #expect(
            TokenAnswer(Array(#"{"token":""#.utf8) + [0xFF] + Array(#""}"#.utf8), mapping: TokenMapping())
                == nil)
        let space = [UInt8](repeating: 32, count: 65_536 - token.count)
        #expect(TokenAnswer(space + token, mapping: TokenMapping()) != nil)
        #expect(TokenAnswer([32] + space + token, mapping: TokenMapping()) == nil)
        let nested = { (levels: Int) in
            #"{"token":"a","x":"# + String(repeating: "[", count: levels)
                + String(repeating: "]", count: levels) + "}"
        }
        #expect(answer(nested(30)) != nil)
        #expect(answer(nested(40)) == nil)
        #expect(answer(String(repeating: "[", count: 65_000)) == nil)
        #expect(answer(String(repeating: #"{"a":"#, count: 13_000)) == nil)
    }

    @Test(
        "the expiry, in every form, within bounds",
        arguments: [
            (#""expires_in":3600"#, TokenAnswer.Expiry.within(3600)),
            (#""expires_in":3600.5"#, .within(3600.5)),
            (#""expires_in":"3600""#, .within(3600)), (#""expiresIn":36e2"#, .within(3600)),
            (#""expires_in":1e300"#, .within(315_360_000)), (#""expires_at":1800000000"#, .at(1_800_000_000)),
            (#""expires_at":"1800000000""#, .at(1_800_000_000)),
            (#""expiresAt":1800000000.9"#, .at(1_800_000_000)),
            (#""expires_at":1800000000999"#, .at(1_800_000_000)),
            (#""expires_at":"2027-01-15T08:00:00Z""#, .at(1_800_000_000)),
            (#""expiresAt":1800000000,"expires_in":5"#, .at(1_800_000_000)),
            (#""expiresIn":7,"expires_at":1800000000,"expires_in":5"#, .within(7)),
            (#""expiresAt":"never","expires_in":5"#, .within(5)), (#""expires_in":0"#, nil),
            (#""expires_in":-1"#, nil), (#""expires_in":""#, nil), (#""expires_in":" 5""#, nil),
            (#""expires_in":"0x10p400""#, nil), (#""expires_in":1e999"#, nil), (#""expires_in":"NaN""#, nil),
            (#""expires_at":0"#, nil), (#""expires_at":-5"#, nil), (#""expires_at":1e30"#, nil),
            (#""expires_at":"1999""#, .at(1999)), (#""expires_at":{}"#, nil), (#""expires_in":false"#, nil),
        ] as [(String, TokenAnswer.Expiry?)])
    func expiry(text: String, expected: TokenAnswer.Expiry?) {
        #expect(answer(#"{"token":"a","# + text + "}")?.expiry == expected)
    }

    @Test("no bytes make it stop working")
    func noise() {
        var random = SeededGenerator(seed: 11)
        let seed = Array(
            #"{"access_token":"a\u00e4","expires_in":[1,{"x":-1.5e3}],"expires_at":"2027-01-15T08:00:00Z"}"#
                .utf8)
        let letters = Array(#"{}[]":,\u0123456789abcdefEtrn.+- "#.utf8) + [0, 0x80, 0xC3, 0xF0, 0xFF]
        for _ in 0..<20_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = letters.randomElement(using: &random) ?? 0
                case 1: bytes.insert(letters.randomElement(using: &random) ?? 0, at: index)
                default: if bytes.count > 1 { bytes.remove(at: index) }
                }
            }
            _ = TokenAnswer(bytes, mapping: TokenMapping(accessToken: "expires_in.1.x"))
        }
    }
}

@Suite("what a token endpoint is asked")
struct TokenRequestTests {
    private static let tokens = Tokens(access: "a/&{refreshToken}", refresh: "r \"\\\u{E4}")

    private func request(
        _ payload: [(String, String)], headers: [(String, String)] = [], json: Bool = false,
        _ tokens: Tokens = tokens
    ) -> TokenRequest? {
        let fields = { (pairs: [(String, String)]) in
            pairs.map { RefreshRules.Field(name: $0.0, template: $0.1) }
        }
        return TokenRequest(
            RefreshRules(
                url: "u", payload: fields(payload), headers: fields(headers), isJSON: json,
                mapping: TokenMapping()),
            tokens)
    }

    private func body(_ request: TokenRequest?) -> String? {
        request.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("a form is encoded, and a token is not looked at for placeholders")
    func form() {
        #expect(
            body(
                request([
                    ("grant type", "x=y&z"), ("t", "<{accessToken}>"), ("r", "{refreshToken}"), ("e", ""),
                ]))
                == "grant+type=x%3Dy%26z&t=%3Ca%2F%26%7BrefreshToken%7D%3E&r=r+%22%5C%C3%A4&e=")
        #expect(
            body(request([("k", "{accessTok{accessToken}en}{}{ {accesstoken}{")]))?.hasSuffix("%7B") == true)
        #expect(body(request([])) == "")
    }

    @Test("JSON is escaped")
    func json() {
        #expect(
            body(request([("a\"b", "{accessToken}"), ("r", "{refreshToken}\n")], json: true))
                == #"{"a\"b":"a/&{refreshToken}","r":"r \"\\ä\u000a"}"#)
        #expect(body(request([], json: true)) == "{}")
    }

    @Test("headers name the body, and carry tokens")
    func headers() throws {
        let made = try #require(
            request([], headers: [("Authorization", "Bearer {accessToken}"), ("X-Empty", "")]))
        #expect(
            made.headers == [
                "Content-Type: application/x-www-form-urlencoded", "Accept: application/json",
                "Authorization: Bearer a/&{refreshToken}", "X-Empty;",
            ])
        #expect(try #require(request([], json: true)).headers[0] == "Content-Type: application/json")
    }

    @Test("a token that is missing leaves a header out, and makes a member pointless")
    func missing() throws {
        let none = Tokens()
        let refreshOnly = Tokens(refresh: "r")
        let bearer = [("Authorization", "Bearer {accessToken}")]
        #expect(request([("r", "{refreshToken}")], headers: bearer, Tokens(access: "a")) == nil)
        #expect(request([("r", "{refreshToken}")], headers: bearer, refreshOnly)?.headers.count == 2)
        #expect(request([], headers: bearer, none) == nil)
        #expect(request([("grant_type", "client_credentials")], headers: bearer, none)?.headers.count == 2)
    }
}
