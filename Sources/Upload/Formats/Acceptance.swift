package import DaemonConfiguration
internal import Envelope

/// Which member of an answer says that the batch was taken, and what a 2xx means by it. Pure.
package struct Acceptance: Equatable, Sendable {
    /// What a body says of the batch.
    enum Word: Equatable {
        case taken
        /// Another value, or no such member.
        case refused
        /// Whatever it says cannot be known.
        case unread
        /// Neither JSON nor anything that must be.
        case silent
    }

    /// Names with dots between them; a number is an index of an array.
    package var member: String
    /// What it may be: the content of a text; a number, boolean or null as it is written.
    package var values: [String]
    /// An answer must have it. Otherwise one that is no JSON is believed, too.
    package var isDemanded: Bool

    package init(member: String, values: [String], isDemanded: Bool = true) {
        self.member = member
        self.values = values
        self.isDemanded = isDemanded
    }

    /// What the settings demand; nil: nothing.
    package init?(_ sync: Settings.Sync) {
        guard let member = sync.acceptMember else { return nil }
        self.init(member: member, values: sync.acceptValues)
    }

    /// The answer as JSON; a name that occurs twice in an object stands for nothing in it. nil: not to be read to its end.
    static func json(_ answer: Answer) -> JSON? { json(answer, dropsDuplicates: true) }

    private static func json(_ answer: Answer, dropsDuplicates: Bool) -> JSON? {
        var limits = JSONReader.Limits()
        limits.dropsDuplicates = dropsDuplicates
        return answer.isReadable && !answer.isCut ? JSONReader.read(answer.body, limits: limits) : nil
    }

    /// What the body of a 2xx says; it must have been kept.
    func read(_ answer: Answer) -> Word {
        guard let root = Self.json(answer) else {
            if answer.isEmpty { return isDemanded ? .refused : .silent }
            return isDemanded || answer.isObject || !answer.isReadable ? .unread : .silent
        }
        guard let found = root[path: member] else { return isDoubled(in: answer, root) ? .unread : .refused }
        return found.text.map(values.contains) == true ? .taken : .refused
    }

    /// The first name on the path that leads nowhere is in its object, and more than once. That another is twice is no harm.
    private func isDoubled(in answer: Answer, _ root: JSON) -> Bool {
        let all = Self.json(answer, dropsDuplicates: false)
        var path = ""
        for name in member.split(separator: ".") {
            path += (path.isEmpty ? "" : ".") + name
            if root[path: path] == nil { return all?[path: path] != nil }
        }
        return false
    }

    /// Why a 2xx is not believed; nil: it is.
    func doubt(_ answer: Answer) -> Doubt? {
        switch read(answer) {
        case .taken, .silent: nil
        case .refused: .refused
        case .unread: .unread
        }
    }
}

extension Answer {
    /// Whether there is no body.
    var isEmpty: Bool { body.isEmpty && !isCut }
}

extension JSON {
    /// The content of a text; a number, boolean or null as it is written; nil for what has members.
    fileprivate var text: String? {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let text), .string(let text): text
        case .array, .object: nil
        }
    }
}
