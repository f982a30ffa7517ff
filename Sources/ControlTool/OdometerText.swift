/// The odometer as text.
package enum OdometerText {
    /// Kilometres that it can be set to at most.
    package static let most = 10_000_000.0

    /// `123456.789 km`.
    package static func line(_ metres: Int, units: Units = .metric) -> String {
        Quantity.fixed(units.long.count(Double(metres)), 3) + " " + units.long.name
    }

    /// - Parameter kilometers: 0 to `most`.
    package static func metres(_ kilometers: Double) -> Int {
        Int(clamping: Int64(exactly: (kilometers * 1000).rounded()) ?? 0)
    }
}
