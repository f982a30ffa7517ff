extension Settings {
    /// A setting that the configuration knows and this version of the daemon cannot carry out: it is refused, so that nobody
    /// relies on it. nil when there is none.
    package var unavailable: (key: String, message: String)? {
        if store.unsentDays > 0 {
            return ("store.unsent_days", "is not available in this version; remove it")
        }
        return allDestinations.lazy.compactMap(\.unavailable).first
    }
}

extension Settings.Destination {
    fileprivate var unavailable: (key: String, message: String)? {
        let missing: [(Bool, String, String)] = [
            (sync.triggers.metered != nil, "metered", "metered = \"avoid\""),
        ]
        let table = name == Self.main ? "sync" : "destination." + name
        return missing.first(where: \.0).map {
            ("\(table).\($0.1)", "\($0.2) is not available in this version; remove it")
        }
    }
}

extension Loaded {
    /// - Parameter file: to name in the error.
    /// - Throws: what this version cannot carry out, though it is well written.
    package func check(_ file: String) throws(ConfigurationError) {
        guard let missing = settings.unavailable else { return }
        throw ConfigurationError([.init(file: file, key: missing.key, message: missing.message)])
    }
}
