/// The definitions served by GetInterfaceDescription, including comments: they are the documentation that
/// introspecting clients show.
package struct InterfaceDescription: Sendable {
    /// The full name, such as `org.beekond.Tracker`.
    package let name: String
    /// The definition in the Varlink interface language.
    package let text: String
    /// Names of its methods without the interface, in textual order.
    package let methods: [String]

    /// `org.beekond.Tracker`: the shipped file, verbatim.
    package static let tracker = InterfaceDescription(
        name: Wire.trackerInterface,
        text: String(decoding: PackageResources.org_beekond_Tracker_varlink, as: UTF8.self))

    /// `org.varlink.service`, which every Varlink server provides.
    package static let service = InterfaceDescription(
        name: Wire.serviceInterface,
        text: String(decoding: PackageResources.org_varlink_service_varlink, as: UTF8.self))

    private init(name: String, text: String) {
        self.name = name
        self.text = text
        methods = text.split(separator: "\n").compactMap { line in
            guard line.hasPrefix("method ") else { return nil }
            return String(line.dropFirst("method ".count).prefix { $0 != "(" && $0 != " " })
        }
    }

    /// The description of an interface; nil when it is not served here.
    package static func named(_ name: String) -> InterfaceDescription? {
        [service, tracker].first { $0.name == name }
    }

    /// The error for a method without a handler: `interfaceNotFound`, `methodNotFound` or, if it is in the
    /// description, `methodNotImplemented`.
    package static func refusal(of call: Call) -> ControlError {
        guard let description = named(call.interface) else { return .interfaceNotFound(call.interface) }
        let member = call.method.dropFirst(call.interface.count + 1)
        guard description.methods.contains(String(member)) else { return .methodNotFound(call.method) }
        return .methodNotImplemented(call.method)
    }
}
