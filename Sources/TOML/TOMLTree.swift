/// A plain value of a TOML document.
public enum TOMLValue: Equatable, Sendable {
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)

    /// What an operator calls this type, with its article.
    public var typeName: String {
        switch self {
        case .bool: "true or false"
        case .integer: "a whole number"
        case .number: "a number"
        case .string: "a text in quotes"
        }
    }
}

/// A value of a TOML document and the line it begins in.
public struct TOMLNode {
    /// What the value is.
    public enum Content {
        case value(TOMLValue)
        /// Dates and times are recognised, but no setting is one.
        case date
        case array([TOMLNode])
        case tables([TOMLTable])
        case table(TOMLTable)
    }

    /// What the value is.
    public let content: Content
    /// From 1.
    public let line: Int
    /// The bytes of the value in the document, where somebody may want to replace them.
    public private(set) var range: Range<Int>?

    init(content: Content, line: Int, range: Range<Int>? = nil) {
        self.content = content
        self.line = line
        self.range = range
    }

    /// What an operator calls this type, with its article.
    public var typeName: String {
        switch content {
        case .value(let value): value.typeName
        case .date: "a date or time"
        case .array, .tables: "a list"
        case .table: "a table"
        }
    }
}

/// A table while it is being filled: the rules on what may be added later depend on how it came about.
public final class TOMLTable {
    enum Form {
        /// Came about as the parent of a header: its own header may still follow.
        case implied
        /// Has had its header: closed to a second one.
        case headed
        /// Came about through a dotted key: more dotted keys may follow, a header may not.
        case dotted
        /// `{ … }`: complete as it stands.
        case inline
    }

    var form: Form
    /// From 1; of the header, where it has one.
    public let line: Int
    /// In the order of the document.
    public private(set) var names: [String] = []
    private var nodes: [String: TOMLNode] = [:]

    init(_ form: Form, line: Int) {
        self.form = form
        self.line = line
    }

    /// nil when the document does not have it.
    public subscript(name: String) -> TOMLNode? { nodes[name] }

    func set(_ name: String, _ node: TOMLNode) {
        if nodes.updateValue(node, forKey: name) == nil { names.append(name) }
    }
}

/// Something a TOML document must not contain, and where it stands.
public struct TOMLProblem: Error {
    /// From 1.
    public let line: Int
    /// In characters, from 1.
    public let column: Int
    /// A sentence without its full stop.
    public let message: String
}

extension String {
    /// The text with everything that could upset a terminal or a log line written as `\u{…}`, cut at 80 characters.
    public var printable: String {
        var text = ""
        for scalar in unicodeScalars.prefix(80) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.count > 80 ? text + "…" : text
    }
}
