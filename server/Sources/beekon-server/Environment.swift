import Glibc

/// The environment of the process.
enum Environment {
    /// nil when it is not set, or empty.
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// - Throws: what is set, but no such number.
    static func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Failure("\(name) is a number within \(range.lowerBound)…\(range.upperBound).")
        }
        return number
    }
}
