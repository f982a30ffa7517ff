/// The configuration file of a destination that is software of others, from what an operator types.
package struct DestinationForm: Sendable {
    /// What the destination speaks.
    package enum Format: String, Sendable, CaseIterable {
        case osmand, owntracks, overland
        /// By the broker that it uses (MQTT discovery).
        case homeAssistant = "home-assistant"

        /// What the secret is, in the words of the software there; nil where there is none.
        package var secret: String? {
            switch self {
            case .osmand: nil
            case .owntracks, .homeAssistant: "password"
            case .overland: "API key"
            }
        }

        /// The secret belongs to a name of a user.
        package var hasUser: Bool { self == .owntracks || self == .homeAssistant }

        /// The value of `format`.
        fileprivate var setting: String { self == .homeAssistant ? Self.owntracks.rawValue : rawValue }
    }

    private let format: Format
    private let url: String
    /// The vehicle's name there.
    private let device: String
    private let user: String?
    private let secret: String?
    private let isInsecure: Bool

    /// - Parameters:
    ///   - url: where it listens, as it was typed: the configuration's own rules judge it.
    ///   - device: the vehicle's name there.
    ///   - isInsecure: whether it may be one that others can read on its way.
    package init(
        _ format: Format, url: String, device: String, user: String?, secret: String?, isInsecure: Bool
    ) {
        (self.format, self.url, self.device) = (format, url, device)
        (self.user, self.secret, self.isInsecure) = (user, secret, isInsecure)
    }

    /// The file.
    ///
    /// - Parameter name: of the destination.
    package func text(name: String) -> String {
        let warning = secret == nil ? "" : " It holds a secret: keep it to yourself."
        var lines = [
            "# Written by beekonctl enroll.\(warning)", "[destination.\(name)]",
            "format = \"\(format.setting)\"", "url = \(Self.quoted(url))",
        ]
        if isInsecure { lines.append("allow_insecure_http = true") }
        if let user { lines.append("username = \(Self.quoted(user))") }
        if let secret, format.hasUser { lines.append("password = \(Self.quoted(secret))") }
        lines.append("device_id = \(Self.quoted(device))")
        switch format {
        // A request each; a broker gets a message each.
        case .osmand, .owntracks: lines.append("interval_seconds = 60")
        case .overland: lines += ["batch_size = 100", "interval_seconds = 300"]
        // It ignores the time of a location: a backlog would drive the vehicle once more along where it has been.
        case .homeAssistant:
            lines += [
                "home_assistant = true", "keep_connection = true", "deliver = \"latest\"",
                "accept_unsubscribed = true", "interval_seconds = 30",
            ]
        }
        if let secret, format == .overland {
            lines += [
                "", "[destination.\(name).headers]", "Authorization = \(Self.quoted("Bearer " + secret))",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A basic string of TOML.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
