/// A method: its name, parameters and result.
public protocol ControlMethod: SendableMetatype {
    /// Parameters of a call.
    associatedtype Parameters: ControlParameters
    /// Contents of a reply.
    associatedtype Result: Codable & Sendable
    /// The full name, such as `org.beekond.Tracker.Start`.
    static var name: String { get }
}

/// Parameters of a method.
public protocol ControlParameters: Codable, Sendable, Equatable {
    /// All names on the wire; a call with any other name is an error.
    static var names: [String] { get }
}

extension Wire {
    /// The parameters or result of a method that has none.
    public struct Empty: ControlParameters {
        /// No names.
        public static let names: [String] = []
        /// Memberwise initialiser.
        public init() {}
    }
}

extension Wire {
    /// Identifies the service and its interfaces.
    public enum GetInfo: ControlMethod {
        /// The full name.
        public static let name = serviceInterface + ".GetInfo"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetInfo.
        public struct Result: Codable, Sendable, Equatable {
            /// Vendor of the service.
            public var vendor: String
            /// Its name.
            public var product: String
            /// Its version.
            public var version: String
            /// Where to find its documentation.
            public var url: String
            /// Full names of the interfaces.
            public var interfaces: [String]

            /// Memberwise initialiser.
            public init(
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
    public enum GetInterfaceDescription: ControlMethod {
        /// The full name.
        public static let name = serviceInterface + ".GetInterfaceDescription"

        /// Parameters of GetInterfaceDescription.
        public struct Parameters: ControlParameters {
            /// Full name.
            public var interface: String

            /// Memberwise initialiser.
            public init(
                interface: String
            ) {
                self.interface = interface
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case interface
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetInterfaceDescription.
        public struct Result: Codable, Sendable, Equatable {
            /// In the Varlink interface language.
            public var description: String

            /// Memberwise initialiser.
            public init(
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
