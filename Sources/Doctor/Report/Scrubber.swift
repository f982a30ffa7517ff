internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope

/// Takes out of texts what no stranger may read. What is masked where it comes from is no secret any more by then; this
/// is for what has found its way into a message all the same.
struct Scrubber {
    /// Shorter ones would be found everywhere.
    private static let shortest = 4
    /// A part of a path that is longer than this is taken for a key: some services know their clients by nothing else.
    private static let longestPart = 15

    /// The longest first: one may be part of another.
    private let secrets: [String]

    /// - Parameters:
    ///   - settings: those of the files; nil when they could not be read.
    ///   - listing: the settings as the daemon tells them.
    init(_ settings: Settings?, listing: [(key: String, value: JSONValue)]) {
        var found = Set(settings?.secretTexts ?? [])
        let addresses =
            listing.compactMap(\.value.stringValue).filter { $0.contains("://") }
            + (settings?.addresses ?? [])
        for address in addresses { found.formUnion(Self.keys(inPathOf: address)) }
        for (key, value) in listing where key.hasPrefix("extras.") {
            if let text = value.stringValue { found.insert(text) }
        }
        found = found.filter { $0.utf8.count >= Self.shortest && !$0.contains(Secret.mask) }
        secrets = found.sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// The text without any of the secrets.
    func scrubbed(_ text: String) -> String {
        secrets.reduce(text) { text, secret in
            text.contains(secret)
                ? text.split(separator: secret, omittingEmptySubsequences: false).joined(
                    separator: Secret.mask)
                : text
        }
    }

    private static func keys(inPathOf address: String) -> [String] {
        guard let start = address.firstRange(of: "://")?.upperBound else { return [] }
        let path = address[start...].prefix { $0 != "?" && $0 != "#" }
        return path.split(separator: "/").dropFirst().filter { $0.count > longestPart }.map { String($0) }
    }
}

extension Settings {
    /// Every secret of every destination.
    fileprivate var secretTexts: [String] {
        allDestinations.flatMap { destination -> [String] in
            let sync = destination.sync
            var found = sync.headers.map(\.value.text)
            switch sync.format {
            case .beekon(let own): found += own.params.texts
            case .template(let own): found += own.shape.params.texts
            case .owntracks(let own): found += [own.username, own.password].compactMap { $0?.text }
            case .overland, .osmand: break
            }
            if let auth = sync.auth {
                found += [auth.accessToken, auth.refreshToken].compactMap { $0?.text }
                found += auth.refreshPayload.map(\.value.text) + auth.refreshHeaders.map(\.value.text)
            }
            // Behind "Bearer ", "Basic " and the like.
            found += found.flatMap { $0.split(separator: " ").dropFirst().map { String($0) } }
            return found + sync.addresses.flatMap(Self.secrets(inAddress:))
        }
    }

    fileprivate var addresses: [String] { allDestinations.flatMap(\.sync.addresses) }

    /// User info and query, whole and in parts.
    private static func secrets(inAddress address: String) -> [String] {
        guard let start = address.firstRange(of: "://")?.upperBound else { return [] }
        let rest = address[start...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let user = authority.lastIndex(of: "@").map { String(authority[..<$0]) } ?? ""
        let query = rest[authority.endIndex...].drop { $0 != "?" && $0 != "#" }.dropFirst()
        let values = query.split(separator: "&").compactMap { part in
            part.firstIndex(of: "=").map { String(part[part.index(after: $0)...]) }
        }
        // Of user info the password alone: a user's name is a word that may stand anywhere.
        return values + user.split(separator: ":", maxSplits: 1).dropFirst().map { String($0) }
    }
}

extension Settings.Sync {
    fileprivate var addresses: [String] { [url, proxy, auth?.refreshURL].compactMap(\.self) }
}
