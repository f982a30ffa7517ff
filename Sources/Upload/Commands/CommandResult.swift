internal import Envelope
package import Tracking

/// How a server's command went: what is journaled, streamed, listed and sent as an element of `command_results`.
package struct CommandResult: Equatable, Sendable {
    /// The id that the server has given to the command.
    package let id: String
    /// Name of the command.
    package let command: String
    /// A ``CommandError/text``; nil when it was carried out.
    package let error: String?
    /// What was found out, a JSON object; nil for nothing.
    package let value: String?

    /// The command was carried out.
    package var isDone: Bool { error == nil }

    /// The result of a command that was carried out, without anything to say.
    package init(_ command: ServerCommand) {
        self.init(id: command.id, command: command.name, error: nil, value: nil)
    }

    /// The result of a command that was refused, or failed.
    package init(_ command: ServerCommand, _ error: CommandError) {
        self.init(id: command.id, command: command.name, error: error.text, value: nil)
    }

    /// Where the vehicle is.
    package init(_ command: ServerCommand, location: Location) {
        self.init(
            id: command.id, command: command.name, error: nil,
            value: "{\"location\":\(BeekonPayload.object(location))}")
    }

    /// Settings are set, and some have another value all the same, because somebody has set them on the vehicle.
    ///
    /// - Parameter names: of those.
    package init(_ command: ServerCommand, overridden names: [String]) {
        let value = JSON.object(["overridden": .array(names.sorted().map { .string($0) })])
        self.init(
            id: command.id, command: command.name, error: nil, value: names.isEmpty ? nil : value.canonical)
    }

    /// A result that is read from the journal.
    package init(id: String, command: String, error: String?, value: String?) {
        self.id = id
        self.command = command
        self.error = error
        self.value = value
    }

    /// A JSON object whose bytes never vary: `id`, `command`, `ok`, then `error` or `result`, if any.
    package var text: String {
        var bytes = Array("{\"id\":".utf8)
        JSONString.append(id, to: &bytes)
        bytes.append(contentsOf: ",\"command\":".utf8)
        JSONString.append(command, to: &bytes)
        bytes.append(contentsOf: ",\"ok\":\(isDone)".utf8)
        if let error {
            bytes.append(contentsOf: ",\"error\":".utf8)
            JSONString.append(error, to: &bytes)
        }
        if let value { bytes.append(contentsOf: ",\"result\":\(value)".utf8) }
        return String(decoding: bytes, as: UTF8.self) + "}"
    }

    /// Reads back ``text``.
    ///
    /// - Returns: nil for anything that it cannot have been, as after damage.
    package init?(text: String) {
        guard case .object(let members)? = JSONReader.read(Array(text.utf8)),
            case .string(let id)? = members["id"], ServerCommand.isID(id),
            case .string(let command)? = members["command"], case .bool(let isDone)? = members["ok"]
        else { return nil }
        var error: String?
        if case .string(let text)? = members["error"] { error = text }
        guard isDone == (error == nil) else { return nil }
        self.init(id: id, command: command, error: error, value: members["result"]?.canonical)
    }
}
