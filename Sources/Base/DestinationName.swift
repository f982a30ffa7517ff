/// The name of a place that rows are uploaded to: `main`, which is the table `[sync]` of the configuration, or that of a
/// table `[destination.NAME]`.
package struct DestinationName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 1…32 of `a–z`, `0–9`, `-` and `_`.
    package let text: String

    /// The destination of the table `[sync]`.
    package static let main = DestinationName(checked: "main")

    /// - Returns: nil for what cannot be such a name.
    package init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private init(checked text: String) {
        self.text = text
    }

    /// `main` comes first, the others by name.
    package static func < (left: DestinationName, right: DestinationName) -> Bool {
        left != right && (left == .main || right != .main && left.text < right.text)
    }

    package var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
