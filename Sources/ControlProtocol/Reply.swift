internal import FoundationEssentials

/// One reply as it came in.
public struct Reply: Sendable {
    /// More replies to the same call follow.
    public let continues: Bool
    /// What went wrong, nil on success.
    public let error: ControlError?
    private let frame: [UInt8]
    /// What the frame holds, when it is a page of locations.
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

    /// Reads a message.
    /// - Parameter frame: the bytes of it, without the NUL.
    public init(decoding frame: [UInt8]) throws(ProtocolViolation) {
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

    /// Reads the result of a method. Members that this version does not know are ignored, so that an older
    /// client understands a newer daemon.
    ///
    /// Throws a `ControlError` when the reply is one, a `ProtocolViolation` when the result does not fit.
    public func result<M: ControlMethod>(of method: M.Type) throws -> M.Result {
        if let error { throw error }
        if let page, let result = Wire.GetLocations.Result(locations: page) as? M.Result { return result }
        if let body = try MessageCheck.decode(Body<M.Result>.self, frame).parameters { return body }
        // A reply without values may leave the member out.
        return try MessageCheck.decode(M.Result.self, Array("{}".utf8))
    }

    /// The bytes of a successful reply, with the NUL that ends it.
    /// - Parameter continues: more replies to this call follow; only after a call with `more`.
    ///
    /// Throws when a number in it is not finite.
    public static func encode<M: ControlMethod>(
        _ method: M.Type, _ result: M.Result, continues: Bool = false
    ) throws -> [UInt8] {
        try bytes(Outgoing(parameters: result, continues: continues ? true : nil, error: nil))
    }

    /// The bytes of a reply that says what went wrong, with the NUL that ends it.
    public static func encode(_ error: ControlError) -> [UInt8] {
        let reply = Outgoing(parameters: error.parameters, continues: nil, error: error.name)
        // The parameters are texts and whole numbers, which always encode; the name alone is the rest.
        return (try? bytes(reply)) ?? Array("{\"error\":\"\(error.name)\"}\0".utf8)
    }

    private static func bytes(_ message: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder.wire.encode(message)) + [0]
    }
}
