/// A method: its name, parameters and result.
package protocol ControlMethod: SendableMetatype {
    associatedtype Parameters: ControlParameters = Wire.Empty
    associatedtype Result: Codable & Sendable = Wire.Empty
    /// With the interface, such as `org.beekond.Tracker.Start`.
    static var name: String { get }
}

package protocol ControlParameters: Codable, Sendable, Equatable {
    /// All names on the wire; a call with any other name is an error.
    static var names: [String] { get }
}
