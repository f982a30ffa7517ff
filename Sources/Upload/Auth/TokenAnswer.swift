internal import Base
internal import Envelope

/// What a token endpoint answered with a 2xx. A pure function of the bytes.
///
/// Anything that is not one JSON object in UTF-8 of at most 64 KiB, or has no token in it, counts as an answer without
/// a token: it was complete, and asking again would bring the same. Truncated answers never get here.
package struct TokenAnswer: Equatable, Sendable {
    /// When a token expires.
    package enum Expiry: Equatable, Sendable {
        /// Unix seconds.
        case at(Int64)
        /// Seconds from now.
        case within(Double)
    }

    /// The new access token.
    package var access: String
    /// The new refresh token; nil: the old one remains valid.
    package var refresh: String?
    /// nil when the endpoint does not say, or says something impossible.
    package var expiry: Expiry?

    /// Seconds: a token that is said to last longer counts as lasting ten years.
    static let longest = 315_360_000.0
    /// The end of the year 9999, in Unix seconds.
    private static let lastSecond = 253_402_300_799.0
    /// A moment beyond this must be in milliseconds: in seconds it would be past the year 5138.
    private static let milliseconds = 1e11

    /// - Returns: nil when there is no token in it.
    package init?(_ body: [UInt8], mapping: TokenMapping) {
        guard let root = JSONReader.read(body), case .object = root,
            let access = Self.token(root, [mapping.accessToken, "access_token", "accessToken", "token"])
        else { return nil }
        self.access = access
        refresh = Self.token(root, [mapping.refreshToken, "refresh_token", "refreshToken"])
        let candidates: [(path: String?, isMoment: Bool)] = [
            (mapping.expiresAt, true), (mapping.expiresIn, false), ("expiresAt", true), ("expiresIn", false),
            ("expires_at", true), ("expires_in", false),
        ]
        for candidate in candidates {
            guard let path = candidate.path, let value = root[path: path] else { continue }
            expiry = candidate.isMoment ? Self.moment(value) : Self.duration(value)
            if expiry != nil { break }
        }
    }

    private static func token(_ root: JSON, _ paths: [String?]) -> String? {
        for case let path? in paths {
            if case .string(let text) = root[path: path], Tokens.isToken(text) { return text }
        }
        return nil
    }

    /// A number, or a text that is one.
    private static func number(_ value: JSON) -> Double? {
        let text: String
        switch value {
        case .number(let number): text = number
        case .string(let string): text = string
        case .null, .bool, .array, .object: return nil
        }
        // Double would accept hexadecimal digits and words as well.
        guard text.utf8.count <= 32, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
            let number = Double(text), number.isFinite
        else { return nil }
        return number
    }

    private static func moment(_ value: JSON) -> Expiry? {
        if let number = number(value) {
            let seconds = number >= milliseconds ? number / 1000 : number
            return seconds > 0 && seconds <= lastSecond ? .at(Int64(seconds)) : nil
        }
        guard case .string(let text) = value, text.utf8.count <= 64, let time = Timestamp(iso8601: text)
        else { return nil }
        return time.milliseconds > 0 ? .at(time.milliseconds / 1000) : nil
    }

    private static func duration(_ value: JSON) -> Expiry? {
        guard let seconds = number(value), seconds > 0 else { return nil }
        return .within(min(seconds, longest))
    }
}
