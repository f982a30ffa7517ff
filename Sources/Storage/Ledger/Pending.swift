/// The records of one kind that one destination is owed, and those that it refused.
struct Pending: Equatable, Sendable {
    /// By session.
    private(set) var bySession: [Int64: Int] = [:]
    private(set) var count = 0
    /// A lower bound: no pending row lies before this one.
    var oldest: RowKey?
    /// Dead letters.
    var rejected = 0

    init() {}

    init(bySession: [Int64: Int], oldest: RowKey? = nil, rejected: Int = 0) {
        self.bySession = bySession.filter { $0.value > 0 }
        count = self.bySession.values.reduce(0, +)
        self.oldest = oldest
        self.rejected = rejected
    }

    mutating func add(_ key: RowKey, session: Int64) {
        bySession[session, default: 0] += 1
        count += 1
        oldest = min(oldest ?? key, key)
    }

    mutating func subtract(_ count: Int, session: Int64) {
        let before = bySession[session] ?? 0
        let left = max(before - count, 0)
        bySession[session] = left > 0 ? left : nil
        self.count -= before - left
    }
}
