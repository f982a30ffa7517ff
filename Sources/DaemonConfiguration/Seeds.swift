internal import TOML

/// The tokens that a configuration begins with.
package enum Seeds {
    private static let names = ["access_token", "refresh_token"]

    /// The text of a configuration file with `"(set)"` in place of its tokens: they are kept encrypted once they have been
    /// adopted, so no copy of the file needs them.
    package static func removed(from bytes: [UInt8]) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        let root = TOMLReader.read(text).root
        let further = table(root, Key.destination)
        let owners = [table(root, "sync")] + (further?.names ?? []).map { table(further, $0) }
        let ranges = owners.flatMap { owner in names.compactMap { table(owner, "auth")?[$0]?.range } }
            .sorted { $0.lowerBound > $1.lowerBound }
        var result = bytes
        for range in ranges { result.replaceSubrange(range, with: "\"\(Secret.mask)\"".utf8) }
        return result
    }

    private static func table(_ parent: TOMLTable?, _ name: String) -> TOMLTable? {
        if case .table(let table) = parent?[name]?.content { table } else { nil }
    }
}

extension Loaded {
    /// The settings without tokens to begin with: tokens that have been adopted go on.
    package var withoutSeeds: Loaded {
        var settings = settings
        settings.sync = settings.sync?.withoutSeeds
        settings.destinations = settings.destinations.map {
            .init(name: $0.name, sync: $0.sync.withoutSeeds, sharesMainTokens: $0.sharesMainTokens)
        }
        return Loaded(settings: settings, warnings: warnings, listing: listing)
    }
}

extension Settings.Sync {
    fileprivate var withoutSeeds: Settings.Sync {
        var sync = self
        sync.auth?.accessToken = nil
        sync.auth?.refreshToken = nil
        sync.auth?.expiresAt = nil
        return sync
    }
}
