/// The server's one table: every path and method it has, each with its right, its work and its description.
///
/// A new endpoint is one entry of a group, beside those of its subject.
enum Endpoints {
    static let groups: [any EndpointGroup.Type] = [
        UploadEndpoints.self, DeviceEndpoints.self, FleetEndpoints.self, AlertEndpoints.self,
        FenceEndpoints.self, AccountEndpoints.self, OperationEndpoints.self,
    ]
    static let all = groups.flatMap { $0.endpoints }
    static let tree = EndpointTree(all)
}

/// The endpoints of one subject.
protocol EndpointGroup: Sendable {
    @EndpointList static var endpoints: [Endpoint] { get }

    /// What their descriptions refer to: of the OpenAPI document, schemas by name.
    static var schemas: KeyValuePairs<String, String> { get }
}

/// A list of entries, one below the other, each of which the compiler looks at by itself.
@resultBuilder enum EndpointList {
    static func buildBlock(_ endpoints: Endpoint...) -> [Endpoint] { endpoints }
}

/// Finds what a request asks for, by the segments of its path. Built once, at the start.
struct EndpointTree: Sendable {
    /// All endpoints of one path.
    final class Resource: Sendable {
        let endpoints: [Endpoint]
        /// The methods that there are, for a request with another one.
        let allow: String

        var template: String { endpoints[0].template }

        fileprivate init(_ endpoints: [Endpoint]) {
            let order = Endpoint.Method.allCases
            self.endpoints = order.flatMap { method in endpoints.filter { $0.method == method } }
            allow = self.endpoints.map(\.method.rawValue).joined(separator: ", ")
            for (one, next) in zip(self.endpoints, self.endpoints.dropFirst()) {
                precondition(one.method != next.method, "\(one.method) \(one.template) is there twice")
                precondition(
                    one.template == next.template
                        && one.parameters.map(\.schema) == next.parameters.map(\.schema),
                    "the methods of \(one.template) have values that differ")
            }
        }
    }

    /// What a request asks for.
    enum Match {
        /// There is nothing at its path.
        case nothing
        /// There is something, that does not have its method.
        case otherMethods(Resource)
        case endpoint(Endpoint, Endpoint.Action)

        /// For metrics: there are few, whatever is asked for.
        var template: String? {
            switch self {
            case .nothing: nil
            case .otherMethods(let resource): resource.template
            case .endpoint(let endpoint, _): endpoint.template
            }
        }
    }

    private typealias Entry = (endpoint: Endpoint, rest: ArraySlice<Substring>)

    private final class Node: Sendable {
        let children: [Substring: Node]
        /// Where a word in braces stands; nil: nowhere here.
        let value: Node?
        /// What the path names that ends here.
        let resource: Resource?

        /// - Parameter entries: endpoints, with what of their templates is beneath this.
        init(_ entries: [Entry]) {
            let here = entries.filter { $0.rest.isEmpty }.map { $0.endpoint }
            resource = here.isEmpty ? nil : Resource(here)
            var beneath: [Substring: [Entry]] = [:]
            for (endpoint, rest) in entries {
                guard let segment = rest.first else { continue }
                let key = segment.hasPrefix("{") ? "{}" : segment
                beneath[key, default: []].append((endpoint, rest.dropFirst()))
            }
            value = beneath.removeValue(forKey: "{}").map { Node($0) }
            children = beneath.mapValues { Node($0) }
            precondition(value == nil || children.isEmpty, "a value stands where a word can")
        }
    }

    /// Bytes: a name of a hundred characters, each of them four bytes and escaped, and the rest.
    private static let longest = 1280

    private let root: Node

    init(_ endpoints: [Endpoint]) {
        root = Node(
            endpoints.map {
                ($0, $0.template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)[...])
            })
    }

    func match(_ method: String, _ path: String) -> Match {
        guard let (resource, values) = resource(at: path) else { return .nothing }
        let endpoint = resource.endpoints.first { $0.method.rawValue == method }
        guard let action = (endpoint ?? resource.endpoints[0]).action(values) else { return .nothing }
        return endpoint.map { Match.endpoint($0, action) } ?? .otherMethods(resource)
    }

    /// - Parameter path: without the query, as it was sent: it is split before escapes are resolved, so that a name may have any
    ///   character.
    /// - Returns: what it names, with what stands in place of the words in braces, whatever that is.
    func resource(at path: String) -> (resource: Resource, values: [Substring])? {
        guard path.utf8.count <= Self.longest, path.hasPrefix("/") else { return nil }
        var (node, values): (Node, [Substring]) = (root, [])
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = Self.decoded(part) else { return nil }
            if let child = node.children[segment] {
                node = child
            } else if let child = node.value {
                node = child
                values.append(segment)
            } else {
                return nil
            }
        }
        return node.resource.map { ($0, values) }
    }

    /// Nearly all of them stand for themselves; in a path, so does a plus.
    private static func decoded(_ segment: Substring) -> Substring? {
        guard segment.utf8.contains(UInt8(ascii: "%")) else { return segment }
        return Fields.decoded(segment.replacing("+", with: "%2B")[...])?[...]
    }
}
