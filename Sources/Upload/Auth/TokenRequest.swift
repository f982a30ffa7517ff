/// How tokens are refreshed, as configured.
package struct RefreshRules: Equatable, Sendable {
    /// A name and a text in which `{accessToken}` and `{refreshToken}` stand for the tokens.
    package struct Field: Equatable, Sendable {
        /// Of a header, or of a member of the body.
        package var name: String
        /// With the placeholders.
        package var template: String

        /// As configured.
        package init(name: String, template: String) {
            self.name = name
            self.template = template
        }
    }

    /// Where to; used verbatim.
    package var url: String
    /// Members of the body, in their order.
    package var payload: [Field]
    /// Besides those that every request has.
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

/// The bytes of a refresh.
package struct TokenRequest: Equatable, Sendable, CustomReflectable {
    /// Seconds that a refresh may take.
    package static let timeout = 15.0

    /// Complete lines, `Name: value`.
    package let headers: [String]
    /// As encoded.
    package let body: [UInt8]

    /// - Returns: nil when these tokens are not enough to ask with. A member of the body that wants a token that is not
    ///   there makes the request pointless; a header that does (`Authorization`, before the first token) is left out.
    package init?(_ rules: RefreshRules, _ tokens: Tokens) {
        var members: [(name: String, text: String)] = []
        for field in rules.payload {
            guard let text = Self.fill(field.template, tokens) else { return nil }
            members.append((field.name, text))
        }
        let lines = rules.headers.compactMap { field in
            // libcurl takes "Name:" for a header to be left out, and "Name;" for an empty one.
            Self.fill(field.template, tokens).map { $0.isEmpty ? field.name + ";" : "\(field.name): \($0)" }
        }
        guard !members.isEmpty || !tokens.isEmpty else { return nil }
        headers =
            [
                "Content-Type: " + (rules.isJSON ? "application/json" : "application/x-www-form-urlencoded"),
                "Accept: application/json",
            ] + lines
        body = rules.isJSON ? Self.json(members) : Self.form(members)
    }

    /// In one pass: what a token holds is not looked at again.
    ///
    /// - Returns: nil when a token is wanted that is not there.
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
            JSONText.append(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONText.append(member.text, to: &bytes)
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
