internal import Alerts
package import Base
package import ServerStore

/// Where batches are forwarded to, as `[[forward]]` of the configuration says.
package struct ForwardTarget: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// `POST` of the envelope.
        case web
        /// JetStream; the subject.
        case nats(subject: String)
        /// MQTT 5 with QoS 1; the topic.
        case mqtt(topic: String)
    }

    /// What the configuration says, not judged yet.
    package struct Draft: Equatable, Sendable {
        package var name: String?
        package var url: String?
        package var subject: String?
        package var topic: String?
        package var tokenFile: String?
        package var credentialsFile: String?
        package var user: String?
        package var passwordFile: String?
        package var caFile: String?
        package var isUnencrypted = false
        package var maxAgeDays: Int?
        package var maxBytes: Int?

        package init() {}
    }

    /// What cannot be.
    package struct Invalid: Error, Equatable {
        /// Name of the setting.
        package let setting: String
        /// A sentence without its full stop.
        package let reason: String

        package init(setting: String, reason: String) {
            (self.setting, self.reason) = (setting, reason)
        }
    }

    package let name: String
    package let kind: Kind
    /// Several servers of NATS, with commas between them; otherwise one.
    package let url: String
    package let tokenFile: String?
    package let credentialsFile: String?
    package let user: String?
    package let passwordFile: String?
    package let caFile: String?
    package let maxAgeDays: Int
    package let maxBytes: Int64

    package static let ages = 1...30
    package static let sizes = 1_000_000...1_000_000_000_000
    /// As many of them at most.
    package static let most = 8
    private static let usualAge = 7
    private static let usualSize = 1_000_000_000
    /// Bytes of a subject, a topic or a path.
    private static let longest = 500

    package init(_ draft: Draft) throws(Invalid) {
        guard let name = draft.name else {
            throw Invalid(
                setting: "name", reason: "name is missing: what waits is known by it")
        }
        guard (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ Self.isWord($0) })
        else {
            throw Invalid(setting: "name", reason: "name is 1 to 64 letters, digits, '-' and '_'")
        }
        guard let url = draft.url else { throw Invalid(setting: "url", reason: "url is missing") }
        self.name = name
        self.url = url
        kind = try Self.kind(of: url, draft)
        tokenFile = draft.tokenFile
        credentialsFile = draft.credentialsFile
        user = draft.user
        passwordFile = draft.passwordFile
        caFile = draft.caFile
        maxAgeDays = draft.maxAgeDays ?? Self.usualAge
        maxBytes = Int64(draft.maxBytes ?? Self.usualSize)
        try checkCredentials()
        guard isEncrypted || isLocal || draft.isUnencrypted else {
            throw Invalid(
                setting: "url",
                reason:
                    "url names another machine without encryption, and everybody on the way could read where people are: use \(secureScheme), or say unencrypted = true"
            )
        }
    }

    private static func kind(of url: String, _ draft: Draft) throws(Invalid) -> Kind {
        let servers = url.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let schemes = Set(servers.map { $0.prefix { $0 != ":" }.lowercased() })
        guard url.utf8.count <= WebAddress.longest, schemes.count == 1, let scheme = schemes.first else {
            throw Invalid(
                setting: "url", reason: "url is one address, or several of NATS with commas between them")
        }
        for server in servers {
            let host = WebAddress.host(server)
            guard server.utf8.allSatisfy({ (33...126).contains($0) }), !host.isEmpty else {
                throw Invalid(
                    setting: "url", reason: "url names a host, and has no spaces and nothing but ASCII")
            }
            guard !server.contains("@") else {
                throw Invalid(setting: "url", reason: "url holds no password: there are files for it")
            }
        }
        func refuse(_ value: String?, _ setting: String, _ what: String) throws(Invalid) {
            if value != nil { throw Invalid(setting: setting, reason: "\(setting) is for \(what)") }
        }
        if scheme != "nats", scheme != "tls" { try refuse(draft.subject, "subject", "nats://") }
        if scheme != "mqtt", scheme != "mqtts" { try refuse(draft.topic, "topic", "mqtt://") }
        switch scheme {
        case "http", "https":
            guard servers.count == 1 else {
                throw Invalid(setting: "url", reason: "url is one address")
            }
            try checkPlaces("url", url)
            return .web
        case "nats", "tls":
            let subject = draft.subject ?? "beekon.batches.{device_id}"
            try checkPlaces("subject", subject)
            let tokens = subject.split(separator: ".", omittingEmptySubsequences: false)
            guard subject.utf8.count <= longest,
                !tokens.contains(where: { $0.isEmpty || $0.hasPrefix("$") }),
                subject.utf8.allSatisfy({ (33...126).contains($0) && $0 != 42 && $0 != 62 })
            else {
                throw Invalid(
                    setting: "subject",
                    reason:
                        "subject is words with dots between them, such as beekon.batches.{device_id}, without * and >"
                )
            }
            return .nats(subject: subject)
        case "mqtt", "mqtts":
            guard servers.count == 1 else { throw Invalid(setting: "url", reason: "url is one address") }
            let rest = url[(url.firstRange(of: "://")?.upperBound ?? url.endIndex)...]
            guard !rest.contains("/"), port(of: url) != nil else {
                throw Invalid(setting: "url", reason: "url is mqtt://host or mqtt://host:port")
            }
            let topic = draft.topic ?? "beekon/batches/{device_id}"
            try checkPlaces("topic", topic)
            guard (1...longest).contains(topic.utf8.count), !topic.hasPrefix("$"),
                topic.utf8.allSatisfy({ $0 >= 32 && $0 != 43 && $0 != 35 && $0 != 127 })
            else {
                throw Invalid(
                    setting: "topic", reason: "topic is such as beekon/batches/{device_id}, without + and #")
            }
            return .mqtt(topic: topic)
        default:
            throw Invalid(
                setting: "url",
                reason:
                    "url begins with https://, http://, nats://, tls:// (NATS with TLS), mqtt:// or mqtts://"
            )
        }
    }

    private func checkCredentials() throws(Invalid) {
        func refuse(_ value: String?, _ setting: String, _ what: String) throws(Invalid) {
            if value != nil { throw Invalid(setting: setting, reason: "\(setting) is for \(what)") }
        }
        switch kind {
        case .web:
            for (value, setting) in [
                (credentialsFile, "credentials_file"), (user, "user"), (passwordFile, "password_file"),
            ] {
                try refuse(
                    value, setting, setting == "credentials_file" ? "nats://" : "nats:// and mqtt://")
            }
            if let tokenFile { try Self.checkPlaces("token_file", tokenFile) }
        case .nats:
            guard [tokenFile, credentialsFile, user].count(where: { $0 != nil }) <= 1 else {
                throw Invalid(
                    setting: "token_file", reason: "only one of token_file, credentials_file and user can be")
            }
        case .mqtt:
            try refuse(credentialsFile, "credentials_file", "nats://")
            try refuse(tokenFile, "token_file", "https:// and nats://")
        }
        guard (user == nil) == (passwordFile == nil) else {
            throw Invalid(
                setting: user == nil ? "password_file" : "user",
                reason: "user and password_file belong together")
        }
    }

    /// Placeholders that are filled.
    private static let places = ["{device}", "{device_id}"]

    private static func checkPlaces(_ setting: String, _ text: String) throws(Invalid) {
        let rest = places.reduce(text) { $0.split(separator: $1, omittingEmptySubsequences: false).joined() }
        guard !rest.contains(where: { "{}".contains($0) }) else {
            throw Invalid(
                setting: setting,
                reason: "\(setting) has another placeholder than \(places.joined(separator: " and "))")
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Host of the broker of MQTT.
    var host: String { Self.bare(WebAddress.host(url)) }
    var port: Int { Self.port(of: url) ?? 0 }
    /// Each server of NATS.
    var servers: [String] { url.split(separator: ",").map(String.init) }

    private static func bare(_ host: Substring) -> String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }

    /// - Returns: the scheme's own where none is named; nil when there is none.
    private static func port(of url: String) -> Int? {
        let host = WebAddress.host(url)
        guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
        let rest = url[start...].dropFirst(host.count)
        guard !rest.isEmpty else { return url.lowercased().hasPrefix("mqtts") ? 8883 : 1883 }
        guard rest.hasPrefix(":"), let port = Int(rest.dropFirst()), (1...65_535).contains(port) else {
            return nil
        }
        return port
    }

    var isEncrypted: Bool {
        ["https:", "tls:", "mqtts:"].contains { url.lowercased().hasPrefix($0) }
    }

    private var secureScheme: String {
        switch kind {
        case .web: "https://"
        case .nats: "tls://"
        case .mqtt: "mqtts://"
        }
    }

    /// Whether it is on this machine.
    package var isLocal: Bool {
        switch kind {
        case .web, .mqtt: WebAddress.isLocal(WebAddress.host(url))
        case .nats: servers.allSatisfy { WebAddress.isLocal(WebAddress.host($0)) }
        }
    }

    /// Each device has a token of its own.
    var hasTokens: Bool { tokenFile.map { text in Self.places.contains { text.contains($0) } } ?? false }

    /// - Parameter isPath: of a file; names of devices have no slash.
    static func fill(_ text: String, _ parcel: Outbox.Parcel, isPath: Bool = false) -> String {
        var text = text
        for (place, value) in [
            ("{device_id}", "\(parcel.key.device)"),
            ("{device}", isPath ? parcel.deviceName : encode(parcel.deviceName)),
        ] {
            text = text.split(separator: place, omittingEmptySubsequences: false).joined(separator: value)
        }
        return text
    }

    /// Percent-encoded but for letters, digits, `-` and `_`: what can stand in an address, a subject, a topic and a header.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isWord(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// What goes with an envelope, beside its id.
    static func headers(_ parcel: Outbox.Parcel) -> [(name: String, value: String)] {
        [
            ("Beekon-Device", "\(parcel.key.device)"), ("Beekon-Device-Name", encode(parcel.deviceName)),
        ] + (parcel.isPacked ? [("Content-Encoding", "gzip")] : [])
    }

    /// How much of what may wait does, by age or size, in percent: above 100, the oldest are dropped.
    ///
    /// - Parameters:
    ///   - age: by which `facts.since` is; nil: it is not known, and nothing is dropped for its age.
    ///   - retention: days for which anything is kept; nil: for ever.
    package func percent(of facts: Outbox.Facts, age: Timestamp?, retention: Int?) -> Int64 {
        let bySize = facts.size * 100 / maxBytes
        guard let age, let since = facts.since else { return bySize }
        let waited = max(0, age.milliseconds - since.milliseconds)
        return max(bySize, waited / (864_000 * Int64(days(retention))))
    }

    /// Days after which it is dropped: what tells of a place is not kept for longer than the place.
    package func days(_ retention: Int?) -> Int { min(maxAgeDays, retention ?? maxAgeDays) }
}
