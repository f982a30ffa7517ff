/// What a server asks for in one answer: commands, in their order, from whoever may give them, as far as that can be told
/// from the answer alone. ``CommandIntake/admit(_:known:at:now:)`` says whether they are taken.
package struct HeardCommands: Equatable, Sendable {
    /// At least one. Each is to be answered with a result, also those that can only be refused.
    package let commands: [ServerCommand]
    /// What the list says of itself; nil unless it was signed.
    package let warrant: ServerCommand.Warrant?
}

/// What an answer says.
package enum Hearing: Equatable, Sendable {
    /// Nobody asks for anything.
    case nothing
    case commands(HeardCommands)
    case refused(CommandListRefusal)
}
