/// A flat JSON object as `application/x-www-form-urlencoded`: texts by their content, numbers and booleans as they are
/// written. What has no text, `null`, objects and arrays, is left out.
enum FormText {
    /// - Parameter limit: bytes; a parameter with which there would be more is left out. nil: as many as there are.
    /// - Returns: nil for anything but one JSON object without repeated names.
    static func text(of object: [UInt8], limit: Int?) -> [UInt8]? {
        guard let members = TemplateParser.members(in: object) else { return nil }
        var text: [UInt8] = []
        for member in members {
            guard let value = JSONReader.read(member.value).flatMap(word) else { continue }
            var parameter: [UInt8] = text.isEmpty ? [] : [UInt8(ascii: "&")]
            PercentEncoding.append(member.name, to: &parameter)
            parameter.append(UInt8(ascii: "="))
            PercentEncoding.append(value.utf8, to: &parameter)
            if let limit, text.count + parameter.count > limit { continue }
            text += parameter
        }
        return text
    }

    private static func word(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .number(let text): text
        case .bool(let isTrue): isTrue ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}
