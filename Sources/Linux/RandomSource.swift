/// The random numbers of one thread, handed down to whatever draws: ids, jitter, the moment of a first attempt. The system's; a test
/// gives its own, and gets the same run again.
///
/// Confined to its thread.
package final class RandomSource: RandomNumberGenerator {
    private let draw: () -> UInt64

    /// The system's.
    package convenience init() {
        var system = SystemRandomNumberGenerator()
        self.init { system.next() }
    }

    /// - Parameter draw: the next 64 bits.
    package init(_ draw: @escaping () -> UInt64) {
        self.draw = draw
    }

    package func next() -> UInt64 { draw() }
}
