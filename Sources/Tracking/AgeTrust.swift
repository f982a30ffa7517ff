package import Base

/// Decides how far a time may make rows count as old. Pure: no clock, no I/O.
///
/// Agreement of the receiver and the system clock proves nothing when the clock follows the receiver. What cannot be
/// led astray is CLOCK_BOOTTIME: as long as times are right they run with it, on one *line*, and where they get ahead of
/// it the machine was off, or the date is wrong. So a time that is more than a day ahead of any line of the last 24 hours
/// of CLOCK_BOOTTIME is in doubt, however many steps it took to get there, and rows grow old only by the earliest of
/// these lines. A jump back to that one ends the doubt, and so do 24 hours after it was left.
package struct AgeTrust: Sendable {
    /// Times that run with CLOCK_BOOTTIME.
    package struct Line: Equatable, Sendable {
        /// The time that it was, by this line, when `Memory.ran` was 0.
        package var origin: Timestamp
        /// `Memory.ran` when the observed time left it; now, if it has not.
        package var until: Double

        /// A line, whose parts belong together.
        package init(origin: Timestamp, until: Double) {
            self.origin = origin
            self.until = until
        }
    }

    /// What must survive a restart.
    package struct Memory: Equatable, Sendable {
        /// Seconds of CLOCK_BOOTTIME over which times were observed, in all runs together.
        package var ran: Double
        /// Earlier lines first, the present one last, which is the latest. Empty when no time has been observed.
        package var lines: [Line]

        /// What was kept.
        package init(ran: Double, lines: [Line]) {
            self.ran = ran
            self.lines = lines
        }

        /// - Parameter latest: the latest time known, if any.
        package init(latest: Timestamp?) {
            self.init(ran: 0, lines: latest.map { [Line(origin: $0, until: 0)] } ?? [])
        }
    }

    /// What a time may be used for.
    package enum Verdict: Equatable, Sendable {
        /// Rows are as old as it says.
        case believed
        /// Only rows before this one are; nil: none.
        case doubted(onlyBefore: Timestamp?)
    }

    /// Seconds; a time further ahead than this is in doubt.
    package static let allowance = 86_400.0
    /// Seconds of CLOCK_BOOTTIME for which a time must have held to be beyond doubt.
    package static let window = 86_400.0
    /// Lines that are remembered: more are joined, and then a doubt may last longer, by the hour.
    package static let limit = 16
    /// Seconds; times closer than this are on the same line.
    static let grain = 3600.0
    /// Seconds; the time run is worth writing down when it has grown by this much. What a power cut forgets of it looks
    /// like a step of the time, so it is less than a short trip.
    static let worthKeeping = 600.0

    /// To be written with the next row, if it differs enough from `kept`.
    package private(set) var memory: Memory
    /// What began a doubt.
    package struct Lead: Equatable, Sendable {
        /// How far the time is ahead of the machine's run of the last 24 hours.
        package var days: Double
        /// The time got there in one step. Otherwise the machine may just be off at night.
        package var isOneStep: Bool
    }

    /// The lead of the latest observation; nil when it began no doubt.
    package private(set) var newLead: Lead?
    private var heard: BootInstant?
    private var kept: Memory?

    /// - Parameter memory: what was stored, or otherwise the time of the newest row.
    package init(_ memory: Memory) {
        self.memory = memory
        kept = memory
    }

    /// Records the next settled time, and returns what it may be used for.
    ///
    /// - Parameter retention: seconds that rows are kept.
    package mutating func observe(_ time: Timestamp, now: BootInstant, retention: Double) -> Verdict {
        newLead = nil
        memory.ran += heard.map { max(now.seconds(since: $0), 0) } ?? 0
        heard = now
        let before = memory.lines
        // What has not been seen to end has lasted until now.
        if let last = before.indices.last { memory.lines[last].until = memory.ran }
        let origin = time.advanced(bySeconds: -memory.ran)
        follow(origin)
        guard let first = memory.lines.first else { return .believed }
        let lead = origin.seconds(since: first.origin)
        guard lead > Self.allowance else { return .believed }
        let earlier = before.last?.origin ?? origin
        let wasInDoubt = earlier.seconds(since: first.origin) > Self.allowance
        let isOneStep = origin.seconds(since: earlier) > Self.allowance
        if !wasInDoubt || isOneStep { newLead = Lead(days: lead / 86_400, isOneStep: isOneStep) }
        return .doubted(onlyBefore: first.origin.advanced(bySeconds: memory.ran - retention))
    }

    /// The time by which rows grow old when it is not a fix that tells the time: `time`, unless that is in doubt.
    ///
    /// - Returns: nil while no time has been observed.
    package func proved(_ time: Timestamp, now: BootInstant) -> Timestamp? {
        guard let first = memory.lines.first else { return nil }
        let ran = memory.ran + (heard.map { max(now.seconds(since: $0), 0) } ?? 0)
        let earliest = first.origin.advanced(bySeconds: ran)
        return time.seconds(since: earliest) <= Self.allowance ? time : earliest
    }

    /// What is to be written with the next row; nil when that is not worth it.
    package var due: Memory? {
        guard let kept else { return memory }
        let isSame =
            kept.lines.count == memory.lines.count
            && zip(kept.lines, memory.lines).allSatisfy {
                abs($0.origin.seconds(since: $1.origin)) < Self.grain
            }
        return isSame && memory.ran - kept.ran < Self.worthKeeping ? nil : memory
    }

    /// Records that it has been written.
    package mutating func keep(_ memory: Memory) {
        kept = memory
    }

    /// Records that what was written is lost.
    package mutating func forgetKept() {
        kept = nil
    }

    private mutating func follow(_ origin: Timestamp) {
        // No line is later than the present one: whoever goes by the earliest never asks for it.
        memory.lines.removeAll { $0.origin >= origin }
        if let last = memory.lines.last, origin.seconds(since: last.origin) < Self.grain {
            memory.lines[memory.lines.count - 1].until = memory.ran
        } else {
            memory.lines.append(Line(origin: origin, until: memory.ran))
        }
        memory.lines.removeAll { memory.ran - $0.until >= Self.window }
        join()
    }

    /// Joins the lines that ended closest to each other, as if the earlier had lasted as long as the later.
    private mutating func join() {
        while memory.lines.count > Self.limit {
            let lines = memory.lines
            // Not the present one, which may not have ended.
            let pairs = lines.indices.dropLast(2)
            guard let index = pairs.min(by: { gap($0, lines) < gap($1, lines) }) else { return }
            memory.lines[index].until = lines[index + 1].until
            memory.lines.remove(at: index + 1)
        }
    }

    private func gap(_ index: Int, _ lines: [Line]) -> Double {
        lines[index + 1].until - lines[index].until
    }
}
