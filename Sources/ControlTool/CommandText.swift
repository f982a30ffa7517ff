package import ControlProtocol

/// The commands of servers as a table.
package enum CommandText {
    /// The header and one line per command. A result is cut to the width of the terminal; nil leaves it whole.
    package static func table(_ commands: [Wire.ServerCommand], clock: Clock, columns: Int?) -> [String] {
        [
            Text.cut(
                row("TIME (\(clock.zone.name))", "ORIGIN", "COMMAND", "STATE", "ID", "RESULT"), to: columns)
        ]
            + commands.map { command in
                let line = row(
                    clock.local(command.receivedAt), Text.cut(Text.safe(command.origin), to: 8),
                    Text.cut(Text.safe(command.command), to: 16), state(command),
                    Text.cut(Text.safe(command.id), to: columns == nil ? nil : 12), result(command))
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

    private static func row(
        _ time: String, _ origin: String, _ command: String, _ state: String, _ id: String, _ result: String
    ) -> String {
        [
            Text.left(time, 19), Text.left(origin, 8), Text.left(command, 16), Text.left(state, 7),
            Text.left(id, 12), result,
        ].joined(separator: " ")
    }
}
