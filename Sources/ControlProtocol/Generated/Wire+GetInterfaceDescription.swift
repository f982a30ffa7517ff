// Written by etc/build/methods (make manuals) from org.varlink.service.varlink. Edit that, not this.
extension Wire {
    /// The definition of one interface.
    package enum GetInterfaceDescription: ControlMethod {
        package static let name = "org.varlink.service.GetInterfaceDescription"

        package struct Parameters: ControlParameters {
            package var interface: String

            package init(interface: String) {
                self.interface = interface
            }

            package static let names = ["interface"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var description: String

            package init(description: String) {
                self.description = description
            }
        }
    }
}
