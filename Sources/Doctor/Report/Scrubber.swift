internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope

/// Takes out of texts what no stranger may read. What is masked where it comes from is no secret any more by then; this
/// is for what has found its way into a message all the same.
struct Scrubber {
    /// The parts of paths that our examples and advice have. Any other may be a key: some services know their clients by
    /// nothing else, and home-made ones have keys of any length.
    static let words: Set<String> = [
        "api", "apps", "batches", "index.php", "live", "locations", "log", "oauth", "osmand", "overland",
        "owntracks", "phonetrack", "points", "pub", "token", "traccar", "v1", "v2", "webhook",
    ]

    private let secrets: SecretTexts
    /// Paths of the settings as they are written, and as they may be shown; the longest first.
    private let paths: [(text: String, shown: String)]

    /// - Parameters:
    ///   - settings: those of the files; nil when they could not be read.
    ///   - listing: the settings as the daemon tells them.
    init(_ settings: Settings?, listing: [(key: String, value: JSONValue)]) {
        let syncs = (settings?.allDestinations ?? []).map(\.sync)
        let addresses =
            listing.compactMap(\.value.stringValue).filter { $0.contains("://") }
            + syncs.flatMap(\.addresses)
        var found = syncs.flatMap(\.secretTexts)
        for address in addresses { found += Settings.pathParts(of: address).filter(Self.isKey) }
        for (key, value) in listing where key.hasPrefix("extras.") {
            if let text = value.stringValue { found.append(text) }
        }
        secrets = SecretTexts(found)
        let texts = Set(addresses.map { "/" + Settings.pathParts(of: $0).joined(separator: "/") })
        paths = texts.map { ($0, Self.masked(path: $0)) }.filter { $0.text != $0.shown }
            .sorted { ($0.text.utf8.count, $0.text) > ($1.text.utf8.count, $1.text) }
    }

    /// The text without any of the secrets.
    func scrubbed(_ text: String) -> String {
        let known = paths.reduce(text) { $0.replacingBytes(of: $1.text, with: $1.shown) }
        return Self.withMaskedPaths(secrets.hidden(in: known))
    }

    /// Whether a part of a path is to be taken out wherever it stands. A plain word may stand anywhere, so that the whole
    /// report would suffer: it goes with its path alone.
    private static func isKey(_ part: String) -> Bool {
        guard !words.contains(part) else { return false }
        return part.count > 15
            || !part.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }

    private static func masked(path: some StringProtocol) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.isEmpty || words.contains(String($0)) ? String($0) : Secret.mask }.joined(
                separator: "/")
    }

    /// The paths of all addresses in the text.
    private static func withMaskedPaths(_ text: String) -> String {
        var (result, rest) = ("", text[...])
        while let mark = rest.firstRange(of: "://") {
            result += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let host = rest.prefix { $0 != "/" && !isEnd($0) }
            result += host
            rest = rest[host.endIndex...]
            let path = rest.prefix { !isEnd($0) }
            result += masked(path: path)
            rest = rest[path.endIndex...]
        }
        return result + rest
    }

    /// What ends the path of an address in a line of text.
    private static func isEnd(_ character: Character) -> Bool {
        character.isWhitespace || "?#\"'<>|,;\\`{}".contains(character)
    }
}
