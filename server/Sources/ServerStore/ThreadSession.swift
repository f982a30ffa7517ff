/// The session that one thread keeps: opened when it is needed, and once more where its connection turns out to be lost.
struct ThreadSession {
    private let open: @Sendable () throws(StoreError) -> any Session
    private var session: (any Session)?

    init(open: @escaping @Sendable () throws(StoreError) -> any Session) {
        self.open = open
    }

    /// There is one, and it can go on.
    var isUsable: Bool { session?.isUsable == true }

    mutating func current() throws(StoreError) -> any Session {
        if let session { return session }
        let new = try open()
        session = new
        return new
    }

    /// Runs `body`, and once more on a new connection if this one turns out to be lost: one that was lost, since the database
    /// was restarted, says so when it is used next. Should a COMMIT have reached the database, its batches count as duplicates then.
    mutating func attempt<Value>(
        _ body: (any Session) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body(try current())
        } catch {
            guard error.kind == .unavailable, session != nil, !isUsable else { throw error }
        }
        close()
        return try body(try current())
    }

    /// What was known to be there is looked for anew.
    func doubtRoom() { session?.doubtRoom() }

    mutating func close() { session = nil }

    /// What cannot go on makes room for another.
    mutating func closeIfLost() {
        if !isUsable { close() }
    }
}
