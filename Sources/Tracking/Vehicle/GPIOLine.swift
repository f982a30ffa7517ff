/// Follows the level of a GPIO line by the kernel's edge events. Pure.
///
/// The kernel drops events when its buffer is full, and numbers them (`line_seqno` of `struct gpio_v2_line_event`, from 1
/// for each request of the line), so that a gap shows. The level decides then, never a count of edges.
package struct GPIOLine: Equatable, Sendable {
    package enum Verdict: Equatable, Sendable {
        /// The level after the last edge.
        case level(Bool)
        /// Events are missing: the level is to be read, and given to `reset`.
        case readAgain
    }

    private var sequence: UInt32 = 0
    /// nil until it has been read.
    package private(set) var level: Bool?

    /// For a line that was just requested: its level is to be read first.
    package init() {}

    /// Processes the next event.
    ///
    /// - Parameters:
    ///   - isRising: of the logical level, which the kernel inverts for `active low`.
    ///   - sequence: `line_seqno`; it wraps.
    package mutating func edge(isRising: Bool, sequence: UInt32) -> Verdict {
        let isNext = sequence == self.sequence &+ 1
        self.sequence = sequence
        // Two edges in the same direction: one between them is missing, whatever the numbers say.
        guard isNext, let level, level != isRising else { return .readAgain }
        self.level = isRising
        return .level(isRising)
    }

    /// The level was read from the line.
    package mutating func reset(to isOn: Bool) {
        level = isOn
    }
}
