/// What SetExtras has changed of the configured extras; it wins over them, name by name.
package struct ExtrasChanges: SmallFileContent, Equatable {
    /// Names with other values, and new ones.
    package var set: [String: String] = [:]
    /// Configured names that are left out.
    package var unset: [String] = []

    /// Nothing is changed.
    package init() {}

    /// The changes that make `wanted` of what is configured.
    package init(wanted: [String: String], configured: [String: String]) {
        set = wanted.filter { configured[$0.key] != $0.value }
        unset = configured.keys.filter { wanted[$0] == nil }.sorted()
    }

    /// The extras in force.
    package func applied(to configured: [String: String]) -> [String: String] {
        configured.filter { !unset.contains($0.key) }.merging(set) { $1 }
    }

    package static var fileName: String { SmallFiles.Name.extras }
}
