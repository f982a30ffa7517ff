/// A method: its name, parameters and result.
package protocol ControlMethod: SendableMetatype {
    /// Parameters of a call.
    associatedtype Parameters: ControlParameters
    /// Contents of a reply.
    associatedtype Result: Codable & Sendable
    /// The full name, such as `org.beekond.Tracker.Start`.
    static var name: String { get }
}

/// Parameters of a method.
package protocol ControlParameters: Codable, Sendable, Equatable {
    /// All names on the wire; a call with any other name is an error.
    static var names: [String] { get }
}

extension Wire {
    /// The parameters or result of a method that has none.
    package struct Empty: ControlParameters {
        /// No names.
        package static let names: [String] = []
        /// Memberwise initialiser.
        package init() {}
    }
}

extension Wire {
    /// Identifies the service and its interfaces.
    package enum GetInfo: ControlMethod {
        /// The full name.
        package static let name = serviceInterface + ".GetInfo"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetInfo.
        package struct Result: Codable, Sendable, Equatable {
            /// Vendor of the service.
            package var vendor: String
            /// Its name.
            package var product: String
            /// Its version.
            package var version: String
            /// Where to find its documentation.
            package var url: String
            /// Full names of the interfaces.
            package var interfaces: [String]

            /// Memberwise initialiser.
            package init(
                vendor: String, product: String, version: String, url: String, interfaces: [String]
            ) {
                self.vendor = vendor
                self.product = product
                self.version = version
                self.url = url
                self.interfaces = interfaces
            }

            private enum CodingKeys: String, CodingKey {
                case vendor
                case product
                case version
                case url
                case interfaces
            }
        }
    }

    /// The definition of one interface.
    package enum GetInterfaceDescription: ControlMethod {
        /// The full name.
        package static let name = serviceInterface + ".GetInterfaceDescription"

        /// Parameters of GetInterfaceDescription.
        package struct Parameters: ControlParameters {
            /// Full name.
            package var interface: String

            /// Memberwise initialiser.
            package init(
                interface: String
            ) {
                self.interface = interface
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case interface
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetInterfaceDescription.
        package struct Result: Codable, Sendable, Equatable {
            /// In the Varlink interface language.
            package var description: String

            /// Memberwise initialiser.
            package init(
                description: String
            ) {
                self.description = description
            }

            private enum CodingKeys: String, CodingKey {
                case description
            }
        }
    }
}
