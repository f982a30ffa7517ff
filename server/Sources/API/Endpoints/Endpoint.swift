internal import Hummingbird

/// One method of one path: who may use it, what it does, and how it is described. `Endpoints` has all of them.
final class Endpoint: Sendable {
    enum Method: String, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// What few endpoints do otherwise than the rest.
    struct Traits: OptionSet {
        let rawValue: UInt8

        /// What it stores notes the use of a new token of a device, too; for the others that is done before.
        static let notesUse = Traits(rawValue: 1)
        /// An answer that has no end looks by itself whether the right to it lasts.
        static let confirmsRight = Traits(rawValue: 2)
    }

    /// Answers a request whose right has been checked.
    typealias Action = @Sendable (Handlers, Call) async throws -> Response

    let method: Method
    /// The path as the OpenAPI document has it; for metrics, too, so that there are few of them.
    let template: String
    let audience: Audience
    let traits: Traits
    let description: Description
    /// What may stand in place of each word in braces, as OpenAPI says it.
    let parameters: [(name: String, schema: String)]
    /// - Parameter values: what stands in place of the words in braces; as many as there are.
    /// - Returns: nil when one of them cannot be what it stands for.
    let action: @Sendable (_ values: [Substring]) -> Action?

    private init(
        _ method: Method, _ template: String, _ audience: Audience, _ traits: Traits,
        _ description: Description, schemas: [String],
        action: @escaping @Sendable (_ values: [Substring]) -> Action?
    ) {
        let names = template.split(separator: "/").filter { $0.hasPrefix("{") }
        precondition(names.count == schemas.count, "\(template) does not have as many values as its action")
        self.method = method
        self.template = template
        self.audience = audience
        self.traits = traits
        self.description = description
        self.parameters = zip(names, schemas).map { (String($0.dropFirst().dropLast()), $1) }
        self.action = action
    }

    convenience init(
        _ method: Method, _ template: String, for audience: Audience, traits: Traits = [],
        _ description: Description, action: @escaping Action
    ) {
        self.init(method, template, audience, traits, description, schemas: []) { _ in action }
    }

    convenience init<A: PathValue>(
        _ method: Method, _ template: String, for audience: Audience, traits: Traits = [],
        _ description: Description,
        action: @escaping @Sendable (Handlers, Call, A) async throws -> Response
    ) {
        self.init(method, template, audience, traits, description, schemas: [A.schema]) { values in
            guard let a = A(segment: values[0]) else { return nil }
            return { try await action($0, $1, a) }
        }
    }

    convenience init<A: PathValue, B: PathValue>(
        _ method: Method, _ template: String, for audience: Audience, traits: Traits = [],
        _ description: Description,
        action: @escaping @Sendable (Handlers, Call, A, B) async throws -> Response
    ) {
        self.init(method, template, audience, traits, description, schemas: [A.schema, B.schema]) { values in
            guard let a = A(segment: values[0]), let b = B(segment: values[1]) else { return nil }
            return { try await action($0, $1, a, b) }
        }
    }

    convenience init<A: PathValue, B: PathValue, C: PathValue>(
        _ method: Method, _ template: String, for audience: Audience, traits: Traits = [],
        _ description: Description,
        action: @escaping @Sendable (Handlers, Call, A, B, C) async throws -> Response
    ) {
        let schemas = [A.schema, B.schema, C.schema]
        self.init(method, template, audience, traits, description, schemas: schemas) { values in
            guard let a = A(segment: values[0]), let b = B(segment: values[1]), let c = C(segment: values[2])
            else { return nil }
            return { try await action($0, $1, a, b, c) }
        }
    }

    /// Whether a page of another site could do harm with the cookie of somebody who is logged in.
    var needsCompanion: Bool { method != .get && audience.isOfUsers }

    /// Whether vehicles that upload afterwards may have to go by something else.
    var changesFleet: Bool { method != .get && (audience == .admins || audience == .local) }
}

/// What may stand in a path in place of a word in braces.
protocol PathValue: Sendable {
    /// - Parameter segment: of the path, its escapes resolved.
    init?(segment: Substring)

    /// What OpenAPI says of it.
    static var schema: String { get }
}

/// The number of a device, a rule, ….
extension Int64: PathValue {
    /// Without sign or leading zeros, so that each thing has one path.
    init?(segment: Substring) {
        guard let number = Int64(segment), number > 0, String(number) == segment else { return nil }
        self = number
    }

    static var schema: String { Schema.id }
}

/// The name of a user or a group.
extension String: PathValue {
    init?(segment: Substring) {
        guard !segment.isEmpty else { return nil }
        self = String(segment)
    }

    static var schema: String { Schema.name }
}

/// The id of a command: `c-5`.
struct CommandNumber: PathValue {
    let value: Int64

    init?(segment: Substring) {
        guard segment.hasPrefix("c-"), let number = Int64(segment: segment.dropFirst(2)) else { return nil }
        value = number
    }

    static let schema = #"{"type":"string","pattern":"^c-[1-9][0-9]{0,17}$"}"#
}

/// How near a picture of the map is.
struct TileZoom: PathValue {
    let value: Int

    init?(segment: Substring) {
        guard let number = Int(segment) else { return nil }
        value = number
    }

    static let schema = #"{"type":"integer","minimum":0,"maximum":22}"#
}

/// The column of a picture of the map, or its row from the north.
struct TileIndex: PathValue {
    let value: Int

    init?(segment: Substring) {
        guard let number = Int(segment) else { return nil }
        value = number
    }

    static let schema = #"{"type":"integer","minimum":0,"maximum":4194303}"#
}
