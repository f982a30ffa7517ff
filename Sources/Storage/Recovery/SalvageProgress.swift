internal import Synchronization

/// How far salvages have come, so that a long one is not taken for a thread that hangs: it holds the store's lock, and on a slow
/// card a large database takes minutes.
package final class SalvageProgress: Sendable {
    private let count = Atomic(0)

    init() {}

    /// Another piece has been read or written: a thousand pages or rows at most.
    func advance() {
        count.add(1, ordering: .relaxed)
    }

    /// Grows with each piece.
    package var pieces: Int { count.load(ordering: .relaxed) }
}
