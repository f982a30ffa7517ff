/// Why a template cannot be used, and where.
package struct TemplateFault: Error, Equatable, Sendable {
    /// From 1.
    package let line: Int
    /// In Unicode scalars, from 1.
    package let column: Int
    /// What is wrong, as a clause without a full stop.
    package let reason: String
    /// What to do about it, as a clause without a full stop.
    package let advice: String
}

extension TemplateFault: CustomStringConvertible {
    package var description: String {
        "line \(line), column \(column): \(reason); \(advice)"
    }
}
