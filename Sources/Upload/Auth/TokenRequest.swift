internal import Envelope

/// How tokens are refreshed, as configured.
package struct RefreshRules: Equatable, Sendable {
    /// A name, and a text in which `{accessToken}` and `{refreshToken}` stand for the tokens.
    package struct Field: Equatable, Sendable {
        /// The name of a header or of a member of the body.
        package var name: String
        /// The text, with its placeholders.
        package var template: String

        /// As configured.
        package init(name: String, template: String) {
            self.name = name
            self.template = template
        }
    }

    /// Where to; used verbatim.
    package var url: String
    /// The members of the body, in this order.
    package var payload: [Field]
    /// Headers besides those of every request.
    package var headers: [Field]
    /// The body is a JSON object instead of a form.
    package var isJSON: Bool
    /// Where the answer keeps its tokens.
    package var mapping: TokenMapping

    /// As configured.
    package init(url: String, payload: [Field], headers: [Field], isJSON: Bool, mapping: TokenMapping) {
        self.url = url
        self.payload = payload
        self.headers = headers
        self.isJSON = isJSON
        self.mapping = mapping
    }
}

/// What asks the endpoint for a new token.
package struct TokenRequest: Equatable, Sendable, CustomReflectable {
    /// Seconds that a refresh may take.
    package static let timeout = 15.0

    /// The url that the request goes to, verbatim.
    package let url: String
    /// Complete lines, `Name: value`.
    package let headers: [String]
    /// The form or the JSON text.
    package let body: [UInt8]
    /// Where its answer keeps the tokens.
    package let mapping: TokenMapping

    /// - Returns: nil when these tokens are not enough to ask with: a member of the body refers to one that is missing. A
    ///   header that does (`Authorization`, before the first token) is left out.
    package init?(_ rules: RefreshRules, _ tokens: Tokens) {
        var members: [(name: String, text: String)] = []
        for field in rules.payload {
            guard let text = Self.fill(field.template, tokens) else { return nil }
            members.append((field.name, text))
        }
        let lines = rules.headers.compactMap { field in
            Self.fill(field.template, tokens).map { HTTPOptions.line(field.name, $0) }
        }
        guard !members.isEmpty || !tokens.isEmpty else { return nil }
        (url, mapping) = (rules.url, rules.mapping)
        headers =
            [
                "Content-Type: " + (rules.isJSON ? "application/json" : "application/x-www-form-urlencoded"),
                "Accept: application/json",
            ] + lines
        body = rules.isJSON ? Self.json(members) : Self.form(members)
    }

    /// In one pass: placeholders within a token are left alone.
    ///
    /// - Returns: nil when the template refers to a token that is missing.
    static func fill(_ template: String, _ tokens: Tokens) -> String? {
        let placeholders = [("{accessToken}", tokens.access), ("{refreshToken}", tokens.refresh)]
        var result = ""
        var rest = template[...]
        scan: while let brace = rest.firstIndex(of: "{") {
            result += rest[..<brace]
            rest = rest[brace...]
            for (name, token) in placeholders where rest.hasPrefix(name) {
                guard let token else { return nil }
                result += token
                rest = rest.dropFirst(name.count)
                continue scan
            }
            result.append("{")
            rest = rest.dropFirst()
        }
        return result + rest
    }

    private static func json(_ members: [(name: String, text: String)]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONString.append(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONString.append(member.text, to: &bytes)
        }
        return bytes + [UInt8(ascii: "}")]
    }

    /// application/x-www-form-urlencoded, as the WHATWG URL standard writes it.
    private static func form(_ members: [(name: String, text: String)]) -> [UInt8] {
        Array(members.map { encoded($0.name) + "=" + encoded($0.text) }.joined(separator: "&").utf8)
    }

    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            default:
                let hex = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Without children, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
