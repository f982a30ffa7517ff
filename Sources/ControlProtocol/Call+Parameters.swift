internal import FoundationEssentials

extension Call {
    private struct Body<P: Codable>: Codable {
        let parameters: P
    }

    /// A value that may not fit any of our types, such as 1e999.
    private struct Readable: Decodable {
        let value: JSONValue?

        init(from decoder: any Decoder) {
            value = try? JSONValue(from: decoder)
        }
    }

    private struct Probe: Decodable {
        let parameters: [String: Readable]
    }

    /// Decodes the parameters of a method, strictly: an unknown name, a missing required parameter and a value of the
    /// wrong type all throw `ControlError.invalidParameter` with the parameter's name.
    package func parameters<M: ControlMethod>(of method: M.Type) throws(ControlError) -> M.Parameters {
        if let unknown = parameterNames.first(where: { !M.Parameters.names.contains($0) }) {
            throw .invalidParameter(unknown)
        }
        do {
            // A call without parameters may omit the member.
            let body = parameterNames.isEmpty ? Array("{\"parameters\":{}}".utf8) : frame
            return try JSONDecoder().decode(Body<M.Parameters>.self, from: Data(body)).parameters
        } catch {
            throw .invalidParameter(
                Self.parameterName(of: error) ?? misfittingParameter(of: method) ?? "parameters")
        }
    }

    /// The parameter that a decoding error concerns: the first key below `parameters`.
    private static func parameterName(of error: any Error) -> String? {
        guard let error = error as? DecodingError else { return nil }
        let path: [any CodingKey]
        switch error {
        case .keyNotFound(let key, let context): path = context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            path = context.codingPath
        @unknown default: path = []
        }
        return path.count > 1 ? path[1].stringValue : nil
    }

    /// The parameter whose removal makes the others decode. For a number that its type cannot represent (1.5 as an
    /// integer) the decoder does not report where it occurred.
    private func misfittingParameter<M: ControlMethod>(of method: M.Type) -> String? {
        guard parameterNames.count > 1 else { return parameterNames.first }
        guard let body = try? JSONDecoder().decode(Probe.self, from: Data(frame)) else {
            return nil
        }
        if let name = parameterNames.first(where: { body.parameters[$0]?.value == nil }) { return name }
        let values = body.parameters.compactMapValues(\.value)
        return parameterNames.first { name in
            let others = Body(parameters: values.filter { $0.key != name })
            guard let data = try? JSONEncoder.wire.encode(others) else { return false }
            do {
                _ = try JSONDecoder().decode(Body<M.Parameters>.self, from: data)
                return true
            } catch {
                return Self.parameterName(of: error) == name
            }
        }
    }
}
