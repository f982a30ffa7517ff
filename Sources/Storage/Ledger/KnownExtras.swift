/// The sets of extras in the database, with their versions; 0 stands for none.
struct KnownExtras: Equatable, Sendable {
    /// Unused sets kept before a search: setting other extras for every trip must not fill the disk.
    static let unusedLimit = 1000
    /// Sets kept at a start without a search for unused ones.
    static let startLimit = 100

    private(set) var versions: [String: Int64] = [:]
    /// Sets at which unused ones are searched for.
    private var limit = unusedLimit

    init() {}

    init(_ versions: [String: Int64]) {
        self.versions = versions
    }

    var isFull: Bool { versions.count >= limit }
    var nextVersion: Int64 { Bounded.key(besides: versions.values) }

    func json(of version: Int64) -> String? { versions.first { $0.value == version }?.key }

    mutating func add(_ json: String, version: Int64) {
        versions[json] = version
    }

    /// Keeps the extras that are left after those that nothing refers to have been deleted.
    mutating func reset(to left: [String: Int64]) {
        versions = left
        limit = left.count + Self.unusedLimit
    }

    /// From now on no set may be forgotten.
    mutating func keepAll() {
        limit = .max
    }
}
