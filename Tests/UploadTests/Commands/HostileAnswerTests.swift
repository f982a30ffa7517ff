import Base
import DaemonConfiguration
import Testing

@testable import Envelope
@testable import Upload

@Suite("hostile answers")
struct HostileAnswerTests {
    private func fate(_ hostile: HostileAnswer) -> HostileAnswer.Fate? {
        let now = BootInstant(nanoseconds: 0)
        var intake = CommandIntake(at: CommandSamples.time, now: now)
        let hearing = CommandIntake.hear(
            hostile.answer, to: CommandSamples.batch, from: .main, hostile.sync,
            installID: CommandSamples.installID)
        switch hearing {
        case .nothing: return .unheard
        case .refused(let refusal): return .refused(refusal.kind)
        case .commands(let heard):
            if let refusal = intake.admit(
                heard, adding: heard.commands.count, after: nil, at: CommandSamples.time, now: now)
            {
                return .refused(refusal.kind)
            }
            let errors = heard.commands.map { command -> CommandError.Kind? in
                let verdict = CommandJudge.judge(
                    command, by: hostile.sync, while: nil, at: CommandSamples.time)
                if case .refuse(let error) = verdict { return error.kind }
                return nil
            }
            guard let kind = errors.first.flatMap({ $0 }), errors.allSatisfy({ $0 == kind }) else {
                return nil
            }
            return .each(kind)
        }
    }

    @Test("none has an effect, and each is refused for its own reason")
    func table() {
        for hostile in HostileAnswer.all { #expect(fate(hostile) == hostile.fate, "\(hostile.name)") }
        print("hostile answers:", HostileAnswer.all.count)
        #expect(HostileAnswer.all.count >= 500)
        // Each reason but those that take several answers, which `CommandIntakeTests` has.
        let refusals = Set(
            HostileAnswer.all.compactMap { hostile in
                if case .refused(let kind) = hostile.fate { kind } else { nil }
            })
        #expect(
            Set(CommandListRefusal.Kind.allCases).subtracting(refusals) == [
                .tooOften, .expired, .counterAhead, .replayed,
            ])
    }

    @Test("the answers it is made of would be obeyed, were it not for what is wrong with them")
    func control() throws {
        let body = #"{"commands":[{"id":"1","command":"stop"}]}"#
        let heard = try CommandSamples.commands(body)
        #expect(
            CommandJudge.judge(heard.commands[0], by: CommandSamples.sync(), while: nil, at: nil)
                == .run(.stop))
    }
}
