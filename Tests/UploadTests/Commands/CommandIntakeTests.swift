import Base
import DaemonConfiguration
import Testing

@testable import Envelope
@testable import Upload

@Suite("which commands are taken")
struct CommandIntakeTests {
    private static let start = BootInstant(nanoseconds: 1_000_000_000_000)

    private func heard(_ ids: [String], counter: Int64? = nil) -> HeardCommands {
        let warrant = counter.map {
            ServerCommand.Warrant(counter: $0, expiresAt: CommandSamples.time.advanced(bySeconds: 600))
        }
        return HeardCommands(
            commands: ids.map {
                ServerCommand(id: $0, name: "stop", .request(.stop), written: .null, warrant: warrant)
            }, warrant: warrant)
    }

    private func intake(arrivals: [Timestamp] = []) -> CommandIntake {
        CommandIntake(arrivals: arrivals, at: CommandSamples.time, now: Self.start)
    }

    /// As many commands as rows are added.
    private func admit(_ intake: inout CommandIntake, _ rows: Int, now: BootInstant = start)
        -> CommandListRefusal.Kind?
    {
        intake.admit(heard((0..<16).map { "\($0)" }), adding: rows, after: nil, at: nil, now: now)?.kind
    }

    @Test("sixty rows an hour, whole lists; what adds none does not count")
    func hourly() {
        var intake = intake()
        var now = Self.start
        for _ in 0..<3 {
            #expect(admit(&intake, 16, now: now) == nil)
            now = now.advanced(bySeconds: 60)
        }
        #expect(admit(&intake, 13, now: now) == .tooOften)
        #expect(admit(&intake, 12, now: now) == nil)
        for _ in 0..<100 { #expect(admit(&intake, 0, now: now) == nil) }
        #expect(admit(&intake, 1, now: now) == .tooOften)
        // The first list came an hour ago.
        now = Self.start.advanced(bySeconds: 3600)
        #expect(admit(&intake, 16, now: now) == nil)
        #expect(admit(&intake, 1, now: now) == .tooOften)
    }

    @Test("the hour goes on over a restart, whatever the clock does")
    func restarts() {
        let time = CommandSamples.time
        // Some of them are older, some from a clock that was ahead by less than an hour, or by a year.
        let ages: [(Double, Int)] = [(10, 20), (3500, 10), (3601, 40), (-600, 20), (-31_536_000, 60)]
        var intake = intake(
            arrivals: ages.flatMap { Array(repeating: time.advanced(bySeconds: -$0.0), count: $0.1) })
        #expect(admit(&intake, 11) == .tooOften)
        #expect(admit(&intake, 10) == nil)
        #expect(admit(&intake, 11, now: Self.start.advanced(bySeconds: 100)) == .tooOften)
        #expect(admit(&intake, 10, now: Self.start.advanced(bySeconds: 100)) == nil)
        #expect(admit(&intake, 50, now: Self.start.advanced(bySeconds: 3650)) == nil)
    }

    @Test("a signed list is taken once, in the order of issue, before its end")
    func signed() {
        var intake = intake()
        let time = CommandSamples.time
        func kind(_ counter: Int64, after last: Int64? = 100, adding rows: Int = 1, at time: Timestamp?)
            -> CommandListRefusal.Kind?
        {
            intake.admit(
                heard(["a"], counter: counter), adding: rows, after: last, at: time, now: Self.start)?.kind
        }
        #expect(kind(100, at: time) == .replayed)
        #expect(kind(99, at: nil) == .replayed)
        #expect(kind(101, at: time) == nil)
        #expect(kind(1, after: nil, at: time) == nil)
        // The same once more: each is known, and answered from its result.
        #expect(kind(100, adding: 0, at: time) == nil)
        let late = time.advanced(bySeconds: 600)
        #expect(kind(100, adding: 0, at: late) == nil)
        #expect(kind(102, at: late) == .expired)
        // A day ahead is as far as it may be; whether it has expired is asked before.
        let ahead = time.milliseconds + 86_400_000
        #expect(kind(ahead, at: time) == nil)
        #expect(kind(ahead + 1, at: time) == .counterAhead)
        #expect(kind(ahead * 1000, adding: 0, at: time) == nil)
        #expect(kind(ahead * 1000, at: late) == .expired)
        #expect(kind(ahead * 1000, at: nil) == nil)
        // Whether its time is over cannot be told: it waits in the journal.
        #expect(kind(102, at: nil) == nil)
        #expect(kind(200, adding: 58, at: time) == .tooOften)
    }
}
