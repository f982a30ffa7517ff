package import Base
package import ControlProtocol
internal import FoundationEssentials

/// Parses the tokens given to `auth seed`.
package enum TokenSeed {
    /// Maximum size of an input in bytes.
    package static let limit = 65_536

    /// Parses a bare access token on one line, or a JSON object as returned by a token endpoint.
    ///
    /// - Parameter now: the time from which `expires_in` is counted.
    /// - Returns: at least one token.
    package static func parse(_ bytes: [UInt8], now: Timestamp) throws -> Wire.SeedAuth.Parameters {
        guard bytes.count <= limit, let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("this is not a token: give one line of text, or a JSON object", exitCode: 65)
        }
        guard text.first(where: { !$0.isWhitespace }) == "{" else {
            return .init(accessToken: try token(text))
        }
        guard let object = try? JSONDecoder().decode([String: JSONValue].self, from: Data(bytes)) else {
            throw Failure("this is not a JSON object", exitCode: 65)
        }
        var parameters = Wire.SeedAuth.Parameters()
        parameters.accessToken = string(object, ["access_token", "accessToken", "token"])
        parameters.refreshToken = string(object, ["refresh_token", "refreshToken"])
        if let expiry = number(object, ["expires_at", "expiresAt"]) {
            parameters.expiresAt = expiry
        } else if let seconds = number(object, ["expires_in", "expiresIn"]) {
            parameters.expiresAt = Int(
                clamping: now.unixSeconds.addingReportingOverflow(Int64(seconds)).partialValue)
        }
        guard parameters.accessToken != nil || parameters.refreshToken != nil else {
            throw Failure("there is neither access_token nor refresh_token in this object", exitCode: 65)
        }
        return parameters
    }

    /// Parses a file that consists of a single token on one line.
    package static func token(_ text: String) throws -> String {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count == 1, let line = lines.first else {
            throw Failure(
                "\(lines.isEmpty ? "nothing was given" : "these are \(lines.count) lines"): give the token alone on one "
                    + "line, or what the token endpoint answered, in JSON", exitCode: 65)
        }
        let token = line.trimmed
        guard !token.isEmpty,
            !token.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw Failure("this is not a token: it is empty, or has control characters", exitCode: 65)
        }
        return String(token)
    }

    private static func string(_ object: [String: JSONValue], _ names: [String]) -> String? {
        names.lazy.compactMap { object[$0]?.stringValue }.first { !$0.isEmpty }
    }

    private static func number(_ object: [String: JSONValue], _ names: [String]) -> Int? {
        names.lazy.compactMap { name -> Int? in
            switch object[name] {
            case .integer(let value): Int(exactly: value)
            case .string(let text): Int(text)
            default: nil
            }
        }.first { $0 >= 0 }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let start = drop(while: \.isWhitespace)
        return start[
            ..<(start.lastIndex { !$0.isWhitespace }.map { start.index(after: $0) } ?? start.startIndex)]
    }
}
