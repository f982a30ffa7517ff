/// The one table of the control interface: every method that is served, each with its right and its work.
///
/// A new method is one entry of a group, beside those of its subject.
enum Methods {
    static let groups: [any MethodGroup.Type] = [
        ServiceMethods.self, TrackingMethods.self, HistoryMethods.self, UploadMethods.self,
        SettingsMethods.self, GeofenceMethods.self,
    ]
    static let all = groups.flatMap { $0.methods }
    private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// - Parameter name: with the interface, as a call has it.
    static func named(_ name: String) -> Method? { byName[name] }
}

/// The methods of one subject.
protocol MethodGroup: Sendable {
    @MethodList static var methods: [Method] { get }
}

/// A list of entries, one below the other, each of which the compiler looks at by itself.
@resultBuilder enum MethodList {
    static func buildBlock(_ methods: Method...) -> [Method] { methods }
}
