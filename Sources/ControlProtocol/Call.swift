internal import FoundationEssentials

/// One call as it came in: its method is known, its parameters are read once the method is recognised.
public struct Call: Sendable {
    /// The full name, such as `org.beekond.Tracker.Start`.
    public let method: String
    /// The caller wants no reply: whatever happens, nothing is sent back.
    public let oneway: Bool
    /// The caller takes several replies.
    public let more: Bool
    private let frame: [UInt8]
    private let parameterNames: [String]

    private struct Header: Decodable {
        let method: String
        let oneway: Bool?
        let more: Bool?
        let parameters: [String: Ignored]?
    }

    /// Stands for a value that is not looked at, and costs nothing to read.
    private struct Ignored: Decodable {
        init(from decoder: any Decoder) {}
    }

    private struct Body<P: Decodable>: Decodable {
        let parameters: P
    }

    private struct Outgoing<P: Encodable>: Encodable {
        let method: String
        let parameters: P
        let oneway: Bool?
        let more: Bool?
    }

    /// Reads a message.
    /// - Parameter frame: the bytes of it, without the NUL.
    ///
    /// Throws when it is no call, or longer than its method may be.
    public init(decoding frame: [UInt8]) throws(ProtocolViolation) {
        try MessageCheck.run(frame)
        let header = try MessageCheck.decode(Header.self, frame)
        guard frame.count <= Limits.request || header.method == Wire.AddGeofences.name else {
            throw .tooLong(limit: Limits.request)
        }
        method = header.method
        oneway = header.oneway ?? false
        more = header.more ?? false
        parameterNames = header.parameters.map { $0.keys.sorted() } ?? []
        self.frame = frame
    }

    /// The interface part of the method, empty when there is none.
    public var interface: String {
        guard let dot = method.lastIndex(of: ".") else { return "" }
        return String(method[..<dot])
    }

    /// Reads the parameters of a method, strictly: a name the method does not have, a required one that is
    /// missing, and a value of the wrong type are all `ControlError.invalidParameter` with the name.
    public func parameters<M: ControlMethod>(of method: M.Type) throws(ControlError) -> M.Parameters {
        if let unknown = parameterNames.first(where: { !M.Parameters.names.contains($0) }) {
            throw .invalidParameter(unknown)
        }
        do {
            // A call without parameters may leave the member out.
            let body = frameHasParameters ? frame : Array("{\"parameters\":{}}".utf8)
            return try JSONDecoder().decode(Body<M.Parameters>.self, from: Data(body)).parameters
        } catch {
            throw .invalidParameter(Call.culprit(of: error))
        }
    }

    private var frameHasParameters: Bool { !parameterNames.isEmpty }

    /// The parameter that a decoding error is about: the first key below `parameters`.
    private static func culprit(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "parameters" }
        let path: [any CodingKey]
        switch error {
        case .keyNotFound(let key, let context): path = context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            path = context.codingPath
        @unknown default: path = []
        }
        return path.count > 1 ? path[1].stringValue : "parameters"
    }

    /// The bytes of a call, with the NUL that ends it.
    ///
    /// Throws when a number in it is not finite.
    public static func encode<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, oneway: Bool = false, more: Bool = false
    ) throws -> [UInt8] {
        let message = Outgoing(
            method: M.name, parameters: parameters, oneway: oneway ? true : nil, more: more ? true : nil)
        return Array(try JSONEncoder.wire.encode(message)) + [0]
    }
}
