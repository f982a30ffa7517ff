/// The tokens that a configuration begins with.
package enum Seeds {
    private static let names = ["access_token", "refresh_token"]

    /// The text of a configuration file with `"(set)"` in place of its tokens: they are kept encrypted once they have been
    /// adopted, so no copy of the file needs them.
    package static func removed(from bytes: [UInt8]) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        var table = TOMLReader.read(text).root
        for name in ["sync", "auth"] {
            guard case .table(let inner) = table[name]?.content else { return bytes }
            table = inner
        }
        let ranges = names.compactMap { table[$0]?.range }.sorted { $0.lowerBound > $1.lowerBound }
        var result = bytes
        for range in ranges { result.replaceSubrange(range, with: "\"\(Secret.mask)\"".utf8) }
        return result
    }
}

extension Loaded {
    /// The same without tokens to begin with: those that have been adopted go on.
    package var withoutSeeds: Loaded {
        var settings = settings
        settings.sync?.auth?.accessToken = nil
        settings.sync?.auth?.refreshToken = nil
        settings.sync?.auth?.expiresAt = nil
        return Loaded(settings: settings, warnings: warnings, listing: listing)
    }
}
