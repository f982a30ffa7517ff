/// The queue of passwords to be judged, and whose turn it is. A value, which its caller holds.
///
/// Names take turns, whoever has come first, so that many at one name are no more than one at another. Those who are known wait in
/// a line of their own, of which one is served after each stranger, and the other way round.
struct PasswordLine<Order: Sendable>: Sendable {
    /// Length of the queue at most: longer waits than a few seconds are refused, and tried again.
    static var longest: Int { 16 }

    private struct Turns: Sendable {
        private var orders: [String: [Order]] = [:]
        /// In the order of their turns.
        private var names: [String] = []
        private var count = 0

        /// - Returns: who is sent away for it, if anybody: a name that has more in the line than any other gives way.
        mutating func add(_ order: Order, of name: String) -> Order? {
            var refused: Order?
            if count >= longest {
                guard let (crowd, waiting) = orders.max(by: { $0.value.count < $1.value.count }),
                    waiting.count > (orders[name]?.count ?? 0) + 1
                else { return order }
                refused = orders[crowd]?.removeLast()
                count -= 1
            }
            if orders[name] == nil { names.append(name) }
            orders[name, default: []].append(order)
            count += 1
            return refused
        }

        mutating func take() -> Order? {
            guard let name = names.first, let order = orders[name]?.first else { return nil }
            names.removeFirst()
            orders[name]?.removeFirst()
            count -= 1
            if orders[name]?.isEmpty ?? true { orders[name] = nil } else { names.append(name) }
            return order
        }
    }

    private var known = Turns()
    private var strangers = Turns()
    private var isStrangersTurn = false

    /// - Parameter isKnown: whether this browser has shown that its user has logged in from it before.
    /// - Returns: who is sent away, since the line is full.
    mutating func add(_ order: Order, of name: String, isKnown: Bool) -> Order? {
        isKnown ? known.add(order, of: name) : strangers.add(order, of: name)
    }

    /// The next one; nil when nobody waits.
    mutating func take() -> Order? {
        let first = isStrangersTurn ? strangers.take() : known.take()
        if let first {
            isStrangersTurn.toggle()
            return first
        }
        return isStrangersTurn ? known.take() : strangers.take()
    }
}
