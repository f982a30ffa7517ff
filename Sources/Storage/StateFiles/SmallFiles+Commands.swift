package import Linux

/// Which signed commands have been begun: none of an earlier list is, whatever becomes of the database.
extension SmallFiles {
    /// The highest number of a list whose commands have been begun.
    package struct CommandCounter: Codable, Equatable, Sendable {
        /// Unix milliseconds of its issue, as the server says.
        package var counter: Int64

        package init(counter: Int64) {
            self.counter = counter
        }
    }

    /// nil when no signed command has ever been begun.
    package func readCommandCounter() -> Reading<CommandCounter> {
        read(Name.commands) { (found: CommandCounter) in found.counter > 0 }
    }

    /// Durable when it returns, which is before such a command is begun.
    package func write(_ counter: CommandCounter) throws(SystemError) {
        try write(Name.commands, counter)
    }
}
