internal import Envelope

/// What may be shown of the path of an address. Some services know their clients by nothing else, and home-made ones have keys
/// of any length: whatever is no word of our examples may be one.
package enum PathWords {
    /// The parts of paths that our examples and advice have.
    package static let all: Set<String> = [
        "api", "apps", "batches", "client", "create.php", "index.php", "live", "locations", "log", "oauth",
        "osmand", "overland", "owntracks", "phonetrack", "points", "post.php", "pub", "token", "traccar",
        "v1", "v2", "v3", "webhook", "write", "write_lp",
    ]
    /// Characters; a longer one is no word.
    private static let longest = 15

    /// Whether a part of a path is to be taken out wherever it stands. A plain word may stand anywhere, so that whole texts
    /// would suffer: it goes with its path alone.
    package static func isKey(_ part: String) -> Bool {
        guard !all.contains(part) else { return false }
        return part.count > longest
            || !part.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }

    /// With `(set)` in the place of each part that is no such word.
    package static func masked(path: some StringProtocol) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.isEmpty || all.contains(String($0)) ? String($0) : Secret.mask }
            .joined(separator: "/")
    }
}
