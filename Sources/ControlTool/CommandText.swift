package import ControlProtocol

/// The commands of servers as a table.
package enum CommandText {
    /// The header and one line per command. A result is cut to the width of the terminal; nil leaves it whole.
    package static func table(_ commands: [Wire.ServerCommand], clock: LocalClock, columns: Int?) -> [String]
    {
        let isNarrow = columns.map { $0 < 60 } ?? false
        let table = Table(
            [
                .init(
                    title: isNarrow ? "TIME" : "TIME (\(clock.zone.name))", width: isNarrow ? 11 : 19,
                    worth: 5),
                .init(title: "ORIGIN", width: 8, worth: 1), .init(title: "COMMAND", width: 16, worth: 9),
                .init(title: "STATE", width: 7, worth: 9), .init(title: "ID", width: 12, worth: 2),
                .init(title: "RESULT", width: 10, worth: 3),
            ], width: columns)
        return [Text.cut(table.header, to: columns)]
            + commands.map { command in
                let time = clock.local(command.receivedAt)
                let line = table.row([
                    isNarrow ? String(time.dropFirst(5).prefix(11)) : time,
                    Text.cut(Text.safe(command.origin), to: 8),
                    Text.cut(Text.safe(command.command), to: 16), state(command),
                    Text.cut(Text.safe(command.id), to: columns == nil ? nil : 12), result(command),
                ])
                return Text.cut(line, to: columns)
            }
    }

    /// `set_config c-17: done`, or why not.
    static func phrase(_ command: Wire.ServerCommand) -> String {
        "\(Text.safe(command.command)) \(Text.safe(command.id)): "
            + (command.error.map { Text.safe($0) } ?? state(command))
    }

    private static func state(_ command: Wire.ServerCommand) -> String {
        switch command.ok {
        case true?: "done"
        case false?: "refused"
        case nil: "waiting"
        }
    }

    /// What came of it, and that the server has yet to learn it.
    private static func result(_ command: Wire.ServerCommand) -> String {
        var parts: [String] = []
        if let error = command.error { parts.append(Text.safe(error)) }
        if let result = command.result, let text = try? JSONLine.encode(result) {
            parts.append(Text.safe(text))
        }
        if command.delivered == false { parts.append("(to be sent)") }
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}
