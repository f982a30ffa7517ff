import Glibc

/// The environment of the process.
enum Environment {
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// - Throws: what is set, but no such number.
    static func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = self[name], !text.isEmpty else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Failure("\(name) is a number within \(range.lowerBound)…\(range.upperBound).")
        }
        return number
    }
}
