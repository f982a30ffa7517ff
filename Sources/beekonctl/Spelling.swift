import ArgumentParser
internal import Base
import ControlTool

/// Finds the verb that was meant.
enum Spelling {
    /// What other programs have as verbs.
    private static let elsewhere = [
        "version": "--version", "upload": "sync", "track": "plot", "export": "history", "set": "config set",
        "get": "config show", "unset": "config unset",
    ]

    /// What is wrong with the verb; nil when it is one, or when that is not for us to judge.
    ///
    /// - Parameter arguments: without the program's name.
    static func complaint(about arguments: [String], of root: any ParsableCommand.Type) -> String? {
        var command = root
        var rest = arguments[...]
        while let word = rest.popFirst() {
            // The shell's questions for completions.
            if word.hasPrefix("---") || word == "--generate-completion-script" { return nil }
            if word == "--socket" { rest = rest.dropFirst() }
            if word.hasPrefix("-") { continue }
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty, word != "help" else { return nil }
            guard let found = verbs.first(where: { name(of: $0) == word }) else {
                return complaint(word, of: command, isRoot: command == root)
            }
            command = found
        }
        return nil
    }

    private static func complaint(
        _ word: String, of command: any ParsableCommand.Type, isRoot: Bool
    ) -> String? {
        let verbs = command.configuration.subcommands.map(name)
        let group = isRoot ? "" : " of \(name(of: command))"
        let help = "beekonctl\(isRoot ? "" : " " + name(of: command)) --help"
        let meant = (isRoot ? elsewhere[word] : nil) ?? nearest(to: word, among: verbs)
        // The words behind a group with a default may be arguments of that.
        if meant == nil, command.configuration.defaultSubcommand != nil { return nil }
        let shown = Text.cut(Text.safe(word), to: 40)
        return "there is no verb \"\(shown)\"\(group)" + (meant.map { ": did you mean \($0)?" } ?? ":")
            + " \(help) lists them"
    }

    /// The beginning of a verb means that one.
    private static func nearest(to word: String, among verbs: [String]) -> String? {
        let longer = verbs.filter { $0.hasPrefix(word) && word.utf8.count >= 3 }
        return longer.min { $0.count < $1.count } ?? Nearest.name(to: word, among: verbs)
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? ""
    }
}
