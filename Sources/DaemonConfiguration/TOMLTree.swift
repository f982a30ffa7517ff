/// A value of a TOML document and the line it begins in.
struct TOMLNode {
    enum Content {
        case value(SettingValue)
        /// Dates and times are recognised, but no setting is one.
        case date
        case array([TOMLNode])
        case tables([TOMLTable])
        case table(TOMLTable)
    }

    let content: Content
    let line: Int
    /// The bytes of the value in the document, where somebody may want to replace them.
    var range: Range<Int>?

    /// The value, if it is of a type that settings have.
    var setting: SettingValue? {
        switch content {
        case .value(let value): return value
        case .array(let nodes):
            let texts = nodes.compactMap { node in
                if case .value(.string(let text)) = node.content { text } else { nil }
            }
            return texts.count == nodes.count ? .list(texts) : nil
        case .date, .tables, .table: return nil
        }
    }

    /// What an operator calls this type, with its article.
    var typeName: String {
        switch content {
        case .value(let value): value.typeName
        case .date: "a date or time"
        case .array, .tables: "a list"
        case .table: "a table"
        }
    }
}

/// A table while it is being filled: the rules on what may be added later depend on how it came about.
final class TOMLTable {
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
    let line: Int
    private(set) var names: [String] = []
    private var nodes: [String: TOMLNode] = [:]

    init(_ form: Form, line: Int) {
        self.form = form
        self.line = line
    }

    subscript(name: String) -> TOMLNode? { nodes[name] }

    func set(_ name: String, _ node: TOMLNode) {
        if nodes.updateValue(node, forKey: name) == nil { names.append(name) }
    }
}

/// Something a TOML document must not contain, and where it stands.
struct TOMLProblem: Error {
    let line: Int
    let column: Int
    let message: String
}
