/// Extras as the user types and reads them.
package enum ExtrasText {
    /// Parses `name=text`.
    package static func pair(_ argument: String) throws(Failure) -> (name: String, text: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else {
            throw Failure(
                "\(Text.safe(argument)) is not an extra: write name=text, such as driver=7", exitCode: 64)
        }
        return (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
    }

    /// One line per extra, ascending by name; wrapped at `columns`, if given, with continuation lines indented.
    package static func lines(_ extras: [String: String], columns: Int? = nil) -> [String] {
        extras.sorted { $0.key < $1.key }.flatMap { name, text in
            let line = "\(Text.safe(name)) = \(Text.safe(text))"
            guard let columns, Text.columns(line) > columns else { return [line] }
            return Text.wrap(line, width: columns - 4).enumerated().map {
                ($0.offset == 0 ? "" : "    ") + $0.element
            }
        }
    }
}
