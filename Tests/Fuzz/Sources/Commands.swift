import Base
import DaemonConfiguration
import Tracking

@testable import Envelope
@testable import Upload

extension Subject {
    /// A server's commands: whatever is heard is bounded, is journaled as it was heard, and is carried out only where it is
    /// allowed; where signatures are demanded, nothing is heard of one that cannot sign.
    static let commands = Subject(name: "commands") { input in
        guard let first = input.first, let batch = UUIDv7(bytes: [UInt8](0..<16)),
            let fleet = DestinationName("fleet"),
            let key = Settings.VerifyKey([UInt8](repeating: 7, count: 32))
        else { return }
        let body = Array(input.dropFirst())
        var rules = Settings.Commands()
        rules.allow = Set(Settings.Commands.Name.allCases)
        rules.settings = ["tracking.interval_seconds", "extras"]
        rules.max = 1 + Int(first >> 4)
        if first & 3 == 3 { rules.verifyKeys = [key] }
        let hearing: Hearing
        if first & 3 == 2 {
            hearing = CommandReader.read(signed: body, to: batch, rules, installID: "a")
        } else {
            let answer = Answer(status: 200, AnswerHead(), AnswerBody(), isCut: false, text: body)
            hearing = CommandReader.read(
                answer, to: batch, from: first & 1 == 0 ? .main : fleet, rules, installID: "a")
        }
        switch hearing {
        case .nothing: break
        case .refused(let refusal): precondition(refusal.detail.utf8.count <= 300)
        case .commands(let heard):
            precondition(rules.verifyKeys.isEmpty && (heard.warrant != nil) == (first & 3 == 2))
            precondition((1...rules.max).contains(heard.commands.count))
            check(heard, rules)
        }
    }

    private static func check(_ heard: HeardCommands, _ rules: Settings.Commands) {
        var sync = Settings.Sync()
        sync.url = "https://a.example"
        sync.commands = rules
        for command in heard.commands {
            precondition(ServerCommand.isID(command.id) && command.name.unicodeScalars.count <= 64)
            precondition(command.digest.utf8.count == 32 && command.warrant == heard.warrant)
            if let text = command.text { precondition(ServerCommand(text: text) == command) }
            switch CommandJudge.judge(command, by: sync, while: nil, at: nil) {
            case .refuse(let error):
                precondition(error.text.utf8.count <= 1000 && !error.text.contains("\n"))
                let result = CommandResult(command, error)
                precondition(CommandResult(text: result.text) == result)
            case .wait: precondition(command.warrant != nil)
            case .run(.setConfig(let settings)):
                precondition(settings.keys.allSatisfy { rules.mayChange($0) })
            case .run: break
            }
        }
    }
}
