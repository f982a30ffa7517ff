package import Base

/// Decides whether a time may make rows count as old. Pure: no clock, no I/O.
///
/// Agreement of the receiver and the system clock proves nothing when the clock follows the receiver. So rows age
/// only by time that has actually passed: after a jump of more than a day nothing stored before it is deleted for its
/// age until the retention time has passed since, by the fix times and by CLOCK_BOOTTIME, whichever is slower. A jump
/// back ends the doubt.
///
/// A pause of up to a day is not a jump, and counts as time passed: otherwise a vehicle that is switched off each
/// night would never delete anything. For one that rests each weekend two jumps are remembered, the oldest in doubt
/// and the latest: rows stored before the oldest are deleted once the retention time has passed since it.
package struct AgeTrust: Sendable {
    /// What must survive a restart.
    package struct Memory: Equatable, Sendable {
        package struct Jump: Equatable, Sendable {
            /// What the time would be without it.
            package var from: Timestamp
            /// `Memory.lived` at that moment.
            package var lived: Double

            package init(from: Timestamp, lived: Double) {
                self.from = from
                self.lived = lived
            }
        }

        /// The latest time observed; nil when there has been none.
        package var latest: Timestamp?
        /// Seconds that have passed in total.
        package var lived: Double
        /// The oldest jump in doubt.
        package var first: Jump?
        /// The latest one, if there are several.
        package var last: Jump?
        /// While there is doubt: rows older than this were stored before a jump that is no longer in doubt.
        package var provedUpTo: Timestamp?

        package init(
            latest: Timestamp?, lived: Double = 0, first: Jump? = nil, last: Jump? = nil,
            provedUpTo: Timestamp? = nil
        ) {
            self.latest = latest
            self.lived = lived
            self.first = first
            self.last = last
            self.provedUpTo = provedUpTo
        }
    }

    /// What a time may be used for.
    package enum Verdict: Equatable, Sendable {
        /// Rows are as old as it says.
        case believed
        /// Only rows before this one are; nil: none.
        case doubted(onlyBefore: Timestamp?)
    }

    /// Seconds; a longer step, relative to CLOCK_BOOTTIME, is a jump.
    package static let allowance = 86_400.0
    /// Seconds; a jump is in doubt for at least this long, however short the retention.
    static let leastDoubt = 86_400.0
    /// Seconds; the time passed is worth writing down when it has grown by this much.
    static let worthKeeping = 3600.0

    /// To be written with the next row, if it differs enough from `kept`.
    package private(set) var memory: Memory
    /// Days of the jump that began a doubt with the latest observation; nil when it began none.
    package private(set) var newJump: Double?
    private var heard: BootInstant?
    private var kept: Memory?

    /// - Parameter memory: what was stored, or otherwise the time of the newest row.
    package init(_ memory: Memory) {
        self.memory = memory
        kept = memory
    }

    package var isInDoubt: Bool { memory.first != nil }

    /// Records the next settled time, and returns what it may be used for.
    ///
    /// - Parameter retention: seconds that rows are kept.
    package mutating func observe(_ time: Timestamp, now: BootInstant, retention: Double) -> Verdict {
        newJump = nil
        let passed = heard.map { max(now.seconds(since: $0), 0) }
        heard = now
        guard let latest = memory.latest else {
            memory.latest = time
            return .believed
        }
        let step = time.seconds(since: latest)
        let beyond = step - (passed ?? 0)
        memory.latest = time
        if beyond > Self.allowance {
            leap(from: latest.advanced(bySeconds: passed ?? 0), seconds: beyond)
        } else if step < -Self.allowance {
            fallBack(to: time)
        } else {
            memory.lived += max(min(step, passed ?? step), 0)
        }
        settle(Self.doubt(retention: retention))
        return verdict
    }

    /// Whether a time that is not a fix's may make rows count as old: it is consistent with the observed times.
    package func allows(_ time: Timestamp, now: BootInstant) -> Bool {
        guard !isInDoubt, let latest = memory.latest else { return false }
        let passed = heard.map { max(now.seconds(since: $0), 0) } ?? 0
        return time.seconds(since: latest) - passed <= Self.allowance
    }

    /// What is to be written with the next row; nil when that is not worth it.
    package var due: Memory? {
        guard let kept else { return memory }
        let isSame =
            kept.first == memory.first && kept.last == memory.last && kept.provedUpTo == memory.provedUpTo
        let grown = memory.latest.map { latest in
            kept.latest.map { abs(latest.seconds(since: $0)) >= Self.worthKeeping } ?? true
        }
        return isSame && grown != true ? nil : memory
    }

    /// Records that it has been written.
    package mutating func keep(_ memory: Memory) {
        kept = memory
    }

    /// Records that what was written is lost.
    package mutating func forgetKept() {
        kept = nil
    }

    /// Seconds that must pass after a jump.
    package static func doubt(retention: Double) -> Double {
        max(retention, leastDoubt)
    }

    private var verdict: Verdict {
        isInDoubt ? .doubted(onlyBefore: memory.provedUpTo) : .believed
    }

    private mutating func leap(from: Timestamp, seconds: Double) {
        let jump = Memory.Jump(from: from, lived: memory.lived)
        if memory.first == nil { memory.first = jump } else { memory.last = jump }
        newJump = seconds / 86_400
    }

    /// Back at times as they were before a jump, the doubt is over; anywhere else it begins again.
    private mutating func fallBack(to time: Timestamp) {
        func isBefore(_ jump: Memory.Jump?) -> Bool {
            guard let jump else { return false }
            return time.seconds(since: jump.from) <= memory.lived - jump.lived + Self.allowance
        }
        if isBefore(memory.first) {
            (memory.first, memory.last, memory.provedUpTo) = (nil, nil, nil)
        } else if isBefore(memory.last) {
            memory.last = nil
        } else if memory.first != nil {
            memory.first?.lived = memory.lived
            memory.last = nil
        }
    }

    private mutating func settle(_ doubt: Double) {
        while let first = memory.first, memory.lived - first.lived >= doubt {
            memory.first = memory.last
            memory.last = nil
            memory.provedUpTo = memory.first == nil ? nil : first.from
        }
    }
}
