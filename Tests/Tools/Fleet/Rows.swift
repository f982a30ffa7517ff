/// The rows of one vehicle, counted: each that was stored is acknowledged or pending.
package struct Rows: Equatable, Sendable {
    /// Stored since the beginning.
    package private(set) var stored = 0
    /// Accepted by the server, which the vehicle knows.
    package private(set) var acknowledged = 0
    /// In the frozen batch; 0: there is none.
    package private(set) var frozen = 0
    /// Bytes of its body.
    package private(set) var bytes = 0
    /// The server has that batch, and the vehicle may not know.
    package var isReceived = false

    package init() {}

    package var pending: Int { stored - acknowledged }

    package mutating func store(_ count: Int) {
        stored += count
    }

    package mutating func freeze(_ count: Int, bytes: Int) {
        (frozen, self.bytes, isReceived) = (count, bytes, false)
    }

    package mutating func acknowledge() {
        acknowledged += frozen
        (frozen, bytes, isReceived) = (0, 0, false)
    }
}
