internal import Glibc

// Secrets of the configuration files belong to the hosts of the files' own `url` and `refresh_url`. Being allowed to
// change where data goes at run time does not give access to them: only root, who can read them anyway, may send them
// elsewhere.
//
// Each setting is judged on its own against what the files say. So no combination of changes, and no order of them,
// sends data where none of them may send it, and resetting a setting restores what the files say.

extension Layers {
    /// Why a runtime setting must not be in force without root's approval; nil when none is needed, or root has given it.
    ///
    /// - Parameters:
    ///   - value: a value that passes the rules of its key; no other is judged here.
    ///   - approved: see `approvals`.
    func custodyComplaint(about name: String, _ value: SettingValue, approved: Set<String>) -> String? {
        let secrets = secrets(ledElsewhereBy: name, value)
            .filter { !approved.contains(Self.approval(of: name, for: $0)) }
        guard let first = secrets.first else { return nil }
        let more = secrets.count > 1 ? " and \(secrets.count - 1) more" : ""
        return
            "would send secrets of the configuration files (\(first.escaped)\(more)) to another host than the files do; "
            + "only root may set it (sudo beekonctl config set), or write it into a file"
    }

    /// What root has approved after a change: a setting and a secret that follows it, each. A secret that the files get
    /// later is none of those. Approval covers the place, not the rest of a URL.
    func approvals(
        _ old: Set<String>, after changed: Set<String>, from before: [String: SettingValue],
        to runtime: [String: SettingValue], asRoot: Bool
    ) -> Set<String> {
        var approved = old.filter { runtime[Self.setting(approvedBy: $0)] != nil }
        for name in changed where Key.named(name)?.key.leadsSecrets == true {
            if !Self.isSamePlace(name, before[name], runtime[name]) {
                approved = approved.filter { Self.setting(approvedBy: $0) != name }
            }
            guard asRoot, let value = runtime[name] else { continue }
            approved.formUnion(secrets(ledElsewhereBy: name, value).map { Self.approval(of: name, for: $0) })
        }
        return approved
    }

    private static func approval(of name: String, for secret: String) -> String { name + " " + secret }

    /// The name of the setting, which has no spaces.
    package static func setting(approvedBy approval: String) -> String {
        String(approval.prefix { $0 != " " })
    }

    private func secrets(ledElsewhereBy name: String, _ value: SettingValue) -> [String] {
        guard let key = Key.named(name)?.key, key.leadsSecrets, leadsElsewhere(key, value) else { return [] }
        return files.secrets(exposedBy: key)
    }

    private func leadsElsewhere(_ key: Key, _ value: SettingValue) -> Bool {
        let own = files.value(of: key)
        switch value {
        // No upload, no refresh, or a direct connection: nothing is sent to anybody else.
        case .string(""), .bool(false): return false
        case .string(let text) where key.isAddress:
            // Anything that is not a URL is refused for that reason.
            guard let place = Place(text, key.name) else { return false }
            guard case .string(let url)? = own else { return true }
            return place != Place(url, key.name)
        case .string, .bool, .integer, .number, .list: return value != own
        }
    }

    private static func isSamePlace(_ name: String, _ old: SettingValue?, _ new: SettingValue?) -> Bool {
        guard case .string(let old)? = old, case .string(let new)? = new else { return old == new }
        return Place(old, name).map { $0 == Place(new, name) } ?? (old == new)
    }
}

/// The host that a URL leads to, however it is written.
struct Place: Equatable {
    let scheme: String
    let host: String
    let port: Int

    /// - Parameter name: the setting; a proxy has a default port of its own.
    /// - Returns: nil when `url` is not a URL.
    init?(_ url: String, _ name: String) {
        guard let address = WebAddress(url) else { return nil }
        scheme = address.scheme
        // libcurl uses port 1080 for every kind of proxy except https.
        let usual = ["https": 443, "http": name.hasSuffix(".proxy") ? 1080 : 80, "mqtt": 1883, "mqtts": 8883]
        port = address.port ?? usual[scheme] ?? 1080
        host = Self.canonical(address.host)
    }

    /// One spelling of each name and address. An unknown form counts as another host, so root is asked once too
    /// often.
    private static func canonical(_ host: String) -> String {
        guard host.contains(":") else {
            // The trailing dot says that the name is complete.
            return host.hasSuffix(".") && host.count > 1 ? String(host.dropLast()) : host
        }
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, host, &bytes) == 1 else { return host }
        return withUnsafeBytes(of: &bytes) { $0.map(String.init).joined(separator: ":") }
    }
}

extension SettingsBuilder {
    private static let tokens: Set<String> = ["sync.auth.access_token", "sync.auth.refresh_token"]

    /// What the files alone say; nil when they set nothing.
    func value(of key: Key) -> SettingValue? { winners[key.name]?.value }

    /// The settings whose secrets `key` could send elsewhere, sorted: those of its own destination, and main's tokens
    /// where that uses them.
    ///
    /// User info and query of a URL are secrets, too. Another URL replaces them; a proxy gets to see them.
    func secrets(exposedBy key: Key) -> [String] {
        let sharesTokens = key.owner.map { winners[Key.table(of: $0) + ".auth"] != nil } ?? false
        return winners.values.filter { found in
            let isOwn = found.key.owner == key.owner
            guard isOwn || sharesTokens && Self.tokens.contains(found.key.name) else { return false }
            return switch found.value {
            case .string(let text) where found.key.isURL:
                isOwn && !key.isURL && WebAddress(text)?.hasSecrets == true
            case let value: found.key.isSecret || found.key.row == "sync.client_key" && value != .string("")
            }
        }.map(\.slot).sorted()
    }
}

extension Key {
    /// A place that is sent to, not a way there.
    fileprivate var isURL: Bool { isAddress && row != "sync.proxy" }
}
