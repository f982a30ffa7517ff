internal import Base
internal import Envelope

typealias Path<Field> = any (WritableKeyPath<Draft, Field> & Sendable)

// How a row of the table is made: the key path's type decides which of these fits.
extension Key {
    static func flag(_ name: String, _ path: Path<Bool>, _ meaning: String) -> Key {
        make(name, .flag, meaning, get: { .bool($0[keyPath: path]) }) { draft, value in
            if case .bool(let flag) = value { draft[keyPath: path] = flag }
        }
    }

    static func number(
        _ name: String, _ path: Path<Double>, _ range: ClosedRange<Double>, clamped: Bool = false,
        _ unit: String,
        _ meaning: String
    ) -> Key {
        make(
            name, .number(range, clamped: clamped), unit: unit, meaning, get: { .number($0[keyPath: path]) }
        ) { draft, value in
            if case .number(let number) = value { draft[keyPath: path] = number }
        }
    }

    static func integer<Whole: BinaryInteger & Sendable>(
        _ name: String, _ path: Path<Whole>, _ range: ClosedRange<Int>, clamped: Bool = false,
        _ unit: String?, _ meaning: String
    ) -> Key {
        make(
            name, .integer(range, clamped: clamped), unit: unit, meaning,
            get: { .integer(Int(clamping: $0[keyPath: path])) }
        ) { draft, value in
            if case .integer(let number) = value { draft[keyPath: path] = Whole(clamping: number) }
        }
    }

    static func time(_ name: String, _ path: Path<Int?>, _ range: ClosedRange<Int>, _ meaning: String) -> Key
    {
        make(
            name, .integer(range, clamped: false), unit: "seconds since 1970", meaning,
            get: { $0[keyPath: path].map { .integer($0) } }
        ) { draft, value in
            if case .integer(let number) = value { draft[keyPath: path] = number }
        }
    }

    static func choice<Choice>(_ name: String, _ path: Path<Choice>, _ meaning: String) -> Key
    where Choice: RawRepresentable<String> & CaseIterable & Sendable {
        make(
            name, .choice(Choice.allCases.map(\.rawValue)), meaning,
            get: { .string($0[keyPath: path].rawValue) }
        ) { draft, value in
            if case .string(let text) = value, let choice = Choice(rawValue: text) {
                draft[keyPath: path] = choice
            }
        }
    }

    static func text(
        _ name: String, _ path: Path<String>, _ rule: @escaping @Sendable (String) -> String?,
        _ meaning: String,
        isAddress: Bool = false
    ) -> Key {
        make(name, .text(rule), meaning, isAddress ? .address : [], get: { .string($0[keyPath: path]) }) {
            draft, value in
            if case .string(let text) = value { draft[keyPath: path] = text }
        }
    }

    /// A text that may be missing: `""` stands for that.
    static func optionalText(
        _ name: String, _ path: Path<String?>, _ rule: @escaping @Sendable (String) -> String?,
        _ meaning: String,
        _ traits: Traits = []
    ) -> Key {
        let orEmpty: @Sendable (String) -> String? = { $0.isEmpty ? nil : rule($0) }
        return make(
            name, .text(orEmpty), meaning, traits,
            get: { .string($0[keyPath: path] ?? "") }
        ) { draft, value in
            if case .string(let text) = value { draft[keyPath: path] = text.isEmpty ? nil : text }
        }
    }

    /// The path of a file that beekond must be able to read.
    static func file(_ name: String, _ path: Path<String?>, _ meaning: String) -> Key {
        optionalText(name, path, Rules.readableFile, meaning, .path)
    }

    static func secret(
        _ name: String, _ path: Path<Secret?>, _ rule: @escaping @Sendable (String) -> String?,
        _ meaning: String
    ) -> Key {
        make(name, .text(rule), meaning, .secret, get: { _ in nil }) { draft, value in
            if case .string(let text) = value { draft[keyPath: path] = Secret(text) }
        }
    }

    static func list(
        _ name: String, _ path: Path<[String]>, limit: Int, _ rule: @escaping @Sendable (String) -> String?,
        _ meaning: String
    ) -> Key {
        make(name, .list(rule, limit: limit), meaning, get: { .list($0[keyPath: path]) }) { draft, value in
            if case .list(let texts) = value { draft[keyPath: path] = texts }
        }
    }

    /// Any number of the choices; the order says nothing.
    static func choices<Choice>(_ name: String, _ path: Path<[Choice]>, _ meaning: String) -> Key
    where Choice: RawRepresentable<String> & CaseIterable & Sendable {
        let names = Choice.allCases.map(\.rawValue)
        let allowed = "use some of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        let rule: @Sendable (String) -> String? = { text in
            guard !names.contains(text) else { return nil }
            let hint = Nearest.name(to: text, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            return "is not known; \(allowed)\(hint)"
        }
        return make(
            name, .list(rule, limit: names.count), meaning + "\nKnown are \(names.joined(separator: ", ")).",
            get: { .list($0[keyPath: path].map(\.rawValue)) }
        ) { draft, value in
            if case .list(let texts) = value {
                draft[keyPath: path] = texts.compactMap { Choice(rawValue: $0) }
            }
        }
    }

    static func open(
        _ name: String, _ path: Path<[Settings.Field]>, isSecret: Bool,
        _ rule: @escaping @Sendable (String, String) -> String?, _ meaning: String
    ) -> Key {
        Key(
            name, .open(rule), meaning, isSecret ? [.secret, .anyCase] : [],
            .many { draft, entries in draft[keyPath: path] = entries.map(\.field) })
    }

    /// Fields of a JSON object: values of any plain type, all of them secret.
    static func parameters(
        _ name: String, _ path: Path<[String: BodyFields.Value]>,
        _ rule: @escaping @Sendable (String, String) -> String?, _ meaning: String
    ) -> Key {
        Key(
            name, .openValues(rule), meaning, .secret,
            .many { draft, entries in
                let fields = entries.map { ($0.entry ?? "", $0.bodyValue) }
                draft[keyPath: path] = Dictionary(fields) { $1 }
            })
    }

    private static func make(
        _ name: String, _ kind: Kind, unit: String? = nil, _ meaning: String, _ traits: Traits = [],
        get: @escaping @Sendable (Draft) -> SettingValue?,
        set: @escaping @Sendable (inout Draft, SettingValue) -> Void
    ) -> Key {
        Key(name, kind, unit: unit, meaning, traits, .one(get: get, set: set))
    }
}
