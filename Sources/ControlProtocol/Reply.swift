internal import FoundationEssentials

/// A received reply.
package struct Reply: Sendable {
    /// More replies to the same call follow.
    package let continues: Bool
    /// The error; nil on success.
    package let error: ControlError?
    private let frame: [UInt8]
    /// The contents of the frame, if it is a page of locations.
    private let page: [Wire.Location]?

    private struct Header: Decodable {
        let continues: Bool?
        let error: String?
    }

    private struct Body<P: Decodable>: Decodable {
        let parameters: P?
    }

    private struct Outgoing<P: Encodable>: Encodable {
        let parameters: P
        let continues: Bool?
        let error: String?
    }

    /// Decodes a message.
    ///
    /// - Parameter frame: its bytes, without the NUL.
    package init(decoding frame: [UInt8]) throws(ProtocolViolation) {
        if let found = LocationPage(frame) {
            (continues, error, page) = (found.continues, nil, found.locations)
            self.frame = frame
            return
        }
        page = nil
        try MessageCheck.run(frame)
        let header = try MessageCheck.decode(Header.self, frame)
        continues = header.continues ?? false
        if let name = header.error {
            let body = try MessageCheck.decode(Body<[String: JSONValue]>.self, frame)
            error = ControlError(name: name, parameters: body.parameters ?? [:])
        } else {
            error = nil
        }
        self.frame = frame
    }

    /// Decodes the result of a method. Unknown members are ignored, so that an older client understands a newer
    /// daemon.
    ///
    /// - Throws: a `ControlError` if the reply is one, a `ProtocolViolation` if the result does not fit.
    package func result<M: ControlMethod>(of method: M.Type) throws -> M.Result {
        if let error { throw error }
        if let page, let result = Wire.GetLocations.Result(locations: page) as? M.Result { return result }
        if let body = try MessageCheck.decode(Body<M.Result>.self, frame).parameters { return body }
        // A reply without values may omit the member.
        return try MessageCheck.decode(M.Result.self, Array("{}".utf8))
    }

    /// Encodes a successful reply, with its terminating NUL.
    ///
    /// - Parameter continues: more replies to this call follow; only after a call with `more`.
    /// - Throws: when it contains a number that is not finite.
    package static func encode<M: ControlMethod>(
        _ method: M.Type, _ result: M.Result, continues: Bool = false
    ) throws -> [UInt8] {
        try bytes(Outgoing(parameters: result, continues: continues ? true : nil, error: nil))
    }

    /// Encodes an error reply, with its terminating NUL.
    package static func encode(_ error: ControlError) -> [UInt8] {
        let reply = Outgoing(parameters: error.parameters, continues: nil, error: error.name)
        // The parameters are strings and integers, which can always be encoded; the name alone is a fallback.
        return (try? bytes(reply)) ?? Array("{\"error\":\"\(error.name)\"}\0".utf8)
    }

    private static func bytes(_ message: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder.wire.encode(message)) + [0]
    }
}
