internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope

/// Takes out of texts what no stranger may read. What is masked where it comes from is no secret any more by then; this
/// is for what has found its way into a message all the same.
struct Scrubber {
    private let secrets: SecretTexts

    /// - Parameters:
    ///   - settings: those of the files; nil when they could not be read.
    ///   - listing: the settings as the daemon tells them.
    init(_ settings: Settings?, listing: [(key: String, value: JSONValue)]) {
        let syncs = (settings?.allDestinations ?? []).map(\.sync)
        let addresses =
            listing.compactMap(\.value.stringValue).filter { $0.contains("://") }
            + syncs.flatMap(\.addresses)
        var found = syncs.flatMap(\.secretTexts)
        for (key, value) in listing where key.hasPrefix("extras.") {
            if let text = value.stringValue { found.append(text) }
        }
        secrets = SecretTexts(found, addresses: addresses)
    }

    /// The text without any of the secrets.
    func scrubbed(_ text: String) -> String {
        Self.withMaskedPaths(secrets.hidden(in: text))
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
            result += PathWords.masked(path: path)
            rest = rest[path.endIndex...]
        }
        return result + rest
    }

    /// What ends the path of an address in a line of text.
    private static func isEnd(_ character: Character) -> Bool {
        character.isWhitespace || "?#\"'<>|,;\\`{}".contains(character)
    }
}
