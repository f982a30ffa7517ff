internal import FoundationEssentials

/// A received call. The parameters are decoded once the method has been recognised.
package struct Call: Sendable {
    /// The full name, such as `org.beekond.Tracker.Start`.
    package let method: String
    /// The caller wants no reply; none is sent, not even an error.
    package let oneway: Bool
    /// The caller accepts multiple replies.
    package let more: Bool
    /// The caller wants to switch to another protocol after the reply.
    package let upgrade: Bool
    let frame: [UInt8]
    /// Names of the call's parameters, sorted.
    let parameterNames: [String]

    private struct Header: Decodable {
        let method: String
        let oneway: Bool?
        let more: Bool?
        let upgrade: Bool?
        let parameters: [String: Ignored]?
    }

    /// Stands for a value that is not examined, and is skipped at no cost.
    private struct Ignored: Decodable {
        init(from decoder: any Decoder) {}
    }

    private struct Outgoing<P: Encodable>: Encodable {
        let method: String
        let parameters: P
        let oneway: Bool?
        let more: Bool?
    }

    /// Decodes a message.
    ///
    /// - Parameter frame: its bytes, without the NUL.
    /// - Throws: when it is not a call, or longer than its method allows.
    package init(decoding frame: [UInt8]) throws(ProtocolViolation) {
        try MessageCheck.run(frame)
        let header = try MessageCheck.decode(Header.self, frame)
        guard frame.count <= Limits.request || header.method == Wire.AddGeofences.name else {
            throw .tooLong(limit: Limits.request)
        }
        method = header.method
        oneway = header.oneway ?? false
        more = header.more ?? false
        upgrade = header.upgrade ?? false
        parameterNames = header.parameters.map { $0.keys.sorted() } ?? []
        self.frame = frame
    }

    /// The interface part of the method; empty when there is none.
    package var interface: String {
        guard let dot = method.lastIndex(of: ".") else { return "" }
        return String(method[..<dot])
    }

    /// The method name without its interface.
    package var member: String {
        method.lastIndex(of: ".").map { String(method[method.index(after: $0)...]) } ?? method
    }

    /// Encodes a call, with its terminating NUL.
    ///
    /// - Throws: when it contains a number that is not finite.
    package static func encode<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, oneway: Bool = false, more: Bool = false
    ) throws -> [UInt8] {
        let message = Outgoing(
            method: M.name, parameters: parameters, oneway: oneway ? true : nil, more: more ? true : nil)
        return Array(try JSONEncoder.wire.encode(message)) + [0]
    }
}
