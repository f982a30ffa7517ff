// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The latest 1000 commands of servers, in the order in which they came. With more: pages, the last
    /// without continues.
    package enum GetCommands: ControlMethod {
        package static let name = "org.beekond.Tracker.GetCommands"

        package struct Result: Codable, Sendable, Equatable {
            package var commands: [ServerCommand]

            package init(commands: [ServerCommand]) {
                self.commands = commands
            }
        }
    }
}
