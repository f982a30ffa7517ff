/// Everything transmitted over the control socket, with the names of `org.beekond.Tracker.varlink`, from which
/// etc/build/methods writes the folder Generated. The namespace separates these types from the daemon's own types with
/// the same names: a `Wire.Location` is text for a reader, not a basis for decisions.
///
/// All times are ISO 8601 strings in UTC with three fractional digits and a literal Z.
package enum Wire {
    /// The interface of beekond.
    package static let trackerInterface = "org.beekond.Tracker"
    /// The interface of every Varlink service.
    package static let serviceInterface = "org.varlink.service"

    /// The parameters or result of a method that has none.
    package struct Empty: ControlParameters {
        package static let names: [String] = []
        package init() {}
    }
}
