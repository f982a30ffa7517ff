/// One method: its name and the shapes of what it takes and answers.
public protocol ControlMethod: SendableMetatype {
    /// What a call carries.
    associatedtype Parameters: ControlParameters
    /// What a reply carries.
    associatedtype Result: Codable & Sendable
    /// The full name, such as `org.beekond.Tracker.Start`.
    static var name: String { get }
}

/// Parameters of a method.
public protocol ControlParameters: Codable, Sendable, Equatable {
    /// All names on the wire; any other name in a call is an error.
    static var names: [String] { get }
}

extension Wire {
    /// The parameters or the result of a method that has none.
    public struct Empty: ControlParameters {
        /// No names.
        public static let names: [String] = []
        /// Makes the value.
        public init() {}
    }
}

extension Wire {
    /// Who serves, and which interfaces.
    public enum GetInfo: ControlMethod {
        /// The full name.
        public static let name = serviceInterface + ".GetInfo"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetInfo answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Who made it.
            public var vendor: String
            /// Its name.
            public var product: String
            /// Its version.
            public var version: String
            /// Where to read about it.
            public var url: String
            /// Full names.
            public var interfaces: [String]

            /// Makes the value.
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

        /// What GetInterfaceDescription takes.
        public struct Parameters: ControlParameters {
            /// Full name.
            public var interface: String

            /// Makes the value.
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

        /// What GetInterfaceDescription answers.
        public struct Result: Codable, Sendable, Equatable {
            /// In the Varlink interface language.
            public var description: String

            /// Makes the value.
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
