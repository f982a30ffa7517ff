internal import Synchronization

/// How many connections there are, of as many as there may be.
final class Crowd: Sendable {
    private let count = Atomic(0)
    /// From so many on, those that bring nothing give way.
    private let crowded: Int

    /// - Parameter most: connections at once.
    init(most: Int) {
        crowded = max(1, most - most / 4)
    }

    var isCrowded: Bool { count.load(ordering: .relaxed) >= crowded }

    func enter() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    func leave() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }
}
