/// Extras as the user types and reads them.
public enum ExtrasText {
    /// Reads `name=text`.
    public static func pair(_ argument: String) throws(Failure) -> (name: String, text: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else {
            throw Failure(
                "\(Text.safe(argument)) is no extra: write name=text, such as driver=7", exitCode: 64)
        }
        return (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
    }

    /// A line for each, ascending by name.
    public static func lines(_ extras: [String: String]) -> [String] {
        extras.sorted { $0.key < $1.key }.map { "\(Text.safe($0.key)) = \(Text.safe($0.value))" }
    }
}
