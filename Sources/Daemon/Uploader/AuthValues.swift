internal import Base
internal import DaemonConfiguration
internal import Upload

// `[sync.auth]` in the terms of `Upload`, and the words for credentials that can no longer be used.

extension AuthPlan {
    /// nil without a table `[sync.auth]`.
    init?(_ sync: Settings.Sync) {
        guard let auth = sync.auth else { return nil }
        let fields = { (fields: [Settings.Field]) in
            fields.map { RefreshRules.Field(name: $0.name, template: $0.value.text) }
        }
        let mapping = TokenMapping(
            accessToken: auth.responseMapping.accessToken, refreshToken: auth.responseMapping.refreshToken,
            expiresAt: auth.responseMapping.expiresAt, expiresIn: auth.responseMapping.expiresIn)
        self.init(
            seed: Tokens(
                access: auth.accessToken?.text, refresh: auth.refreshToken?.text,
                expiresAt: auth.expiresAt.map { Int64($0) }),
            seedEpoch: auth.seedEpoch, isRaw: auth.strategy == .raw,
            refresh: auth.refreshURL.map {
                RefreshRules(
                    url: $0, payload: fields(auth.refreshPayload), headers: fields(auth.refreshHeaders),
                    isJSON: auth.refreshBodyFormat == .json, mapping: mapping)
            },
            skew: auth.skewMarginSeconds, uploadOrigin: TokenOrigin(sync.url, sync.proxy),
            refreshOrigin: auth.refreshURL.map { TokenOrigin($0, sync.proxy) })
    }
}

extension TokenOrigin {
    /// The origin of a URL, without what is secret in it or in the proxy's.
    init(_ url: String, _ proxy: String?) {
        let target = Settings.target(of: url) ?? ("", "", 0)
        let proxy = proxy.flatMap { Settings.target(of: $0) }.map { "\($0.scheme)://\($0.host):\($0.port)" }
        self.init(scheme: target.scheme, host: target.host, port: target.port, proxy: proxy)
    }
}

extension AuthRecord.Death {
    /// What happened.
    func words(_ status: Int?) -> String {
        let code = status.map { " (\($0))" } ?? ""
        return switch self {
        case .refused: "the token endpoint refuses to refresh the token\(code)"
        case .noToken: "the token endpoint answers\(code) without a token"
        case .rotationInterrupted:
            "a refresh was cut off, and the token endpoint refuses the tokens it began with\(code)"
        case .noRefresh: "the server refuses the token, and nothing can refresh it"
        case .hostChanged:
            "the tokens were for another host, port or scheme, or another proxy would see them, and have been "
                + "dropped"
        case .key: "the stored tokens cannot be read or decrypted"
        }
    }

    /// What happened and what to do.
    func advice(_ status: Int?, of name: DestinationName) -> String {
        let auth = name.table + ".auth"
        let seed = "beekonctl auth seed" + (name == .main ? "" : " --destination " + name.text)
        let remedy =
            switch self {
            case .refused:
                "check \(auth).refresh_url and its payload, then give new tokens: in [\(auth)], or with \(seed)"
            case .noToken:
                "check \(auth).refresh_url and response_mapping, then raise \(auth).seed_epoch or give new tokens"
            case .rotationInterrupted, .noRefresh, .hostChanged:
                "give new tokens: in [\(auth)], or with \(seed)"
            case .key:
                "mend what the log names (the disk, who owns the file, the key beekond.key), or give new tokens "
                    + "with \(seed)"
            }
        return words(status) + ": " + remedy + "; nothing is lost, what is stored is kept"
    }
}
