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

    private func intake(lastCounter: Int64? = nil) -> CommandIntake {
        CommandIntake(installID: CommandSamples.installID, lastCounter: lastCounter)
    }

    @Test("sixty an hour, whole lists; what is known does not count")
    func hourly() {
        var intake = intake()
        var now = Self.start
        for list in 0..<3 {
            let ids = (0..<16).map { "\(list)-\($0)" }
            #expect(intake.admit(heard(ids), known: [], at: nil, now: now) == nil)
            now = now.advanced(bySeconds: 60)
        }
        let many = (0..<13).map { "x-\($0)" }
        #expect(intake.admit(heard(many), known: [], at: nil, now: now)?.kind == .tooOften)
        #expect(intake.admit(heard(many), known: ["x-0"], at: nil, now: now) == nil)
        for _ in 0..<100 { #expect(intake.admit(heard(many), known: Set(many), at: nil, now: now) == nil) }
        #expect(intake.admit(heard(["y"]), known: [], at: nil, now: now)?.kind == .tooOften)
        // The first list came an hour ago.
        now = Self.start.advanced(bySeconds: 3600)
        #expect(intake.admit(heard((0..<16).map { "z-\($0)" }), known: [], at: nil, now: now) == nil)
        #expect(intake.admit(heard(["z"]), known: [], at: nil, now: now)?.kind == .tooOften)
    }

    @Test("a signed list is taken once, in the order of issue, before its end")
    func signed() {
        var intake = intake(lastCounter: 100)
        let time = CommandSamples.time
        #expect(
            intake.admit(heard(["a"], counter: 100), known: [], at: time, now: Self.start)?.kind == .replayed)
        #expect(
            intake.admit(heard(["a"], counter: 99), known: [], at: nil, now: Self.start)?.kind == .replayed)
        #expect(intake.lastCounter == 100)
        #expect(intake.admit(heard(["a", "b"], counter: 101), known: [], at: time, now: Self.start) == nil)
        #expect(intake.lastCounter == 101)
        // The same once more: each is known, and answered from its result.
        #expect(
            intake.admit(heard(["a", "b"], counter: 101), known: ["a", "b"], at: time, now: Self.start) == nil
        )
        let late = time.advanced(bySeconds: 600)
        #expect(
            intake.admit(heard(["a", "b"], counter: 101), known: ["a", "b"], at: late, now: Self.start) == nil
        )
        #expect(
            intake.admit(heard(["a", "c"], counter: 101), known: ["a"], at: time, now: Self.start)?.kind
                == .replayed)
        #expect(
            intake.admit(heard(["d"], counter: 102), known: [], at: late, now: Self.start)?.kind == .expired)
        // Whether its time is over cannot be told: it waits in the journal.
        #expect(intake.admit(heard(["d"], counter: 102), known: [], at: nil, now: Self.start) == nil)
        // What is too often for now may come again.
        let many = (0..<58).map { "m-\($0)" }
        #expect(
            intake.admit(heard(many, counter: 200), known: [], at: time, now: Self.start)?.kind == .tooOften)
        #expect(intake.lastCounter == 102)
    }
}
