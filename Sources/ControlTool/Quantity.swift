/// Numbers for people.
package enum Quantity {
    /// With a fixed number of decimals; without an exponent for anything that fits a table.
    package static func fixed(_ value: Double, _ decimals: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard abs(scaled) < 1e15 else { return "\(value)" }
        let whole = Int64(abs(scaled))
        let sign = scaled < 0 ? "-" : ""
        guard decimals > 0 else { return "\(sign)\(whole)" }
        let digits = pad(Int(whole), decimals + 1)
        return sign + digits.dropLast(decimals) + "." + digits.suffix(decimals)
    }

    /// In at most `width` characters, at least 6: with fewer decimals than requested if necessary, and with an
    /// exponent if nothing else fits.
    static func fitting(_ value: Double, _ decimals: Int, _ width: Int) -> String {
        for decimals in stride(from: decimals, through: 0, by: -1) {
            let text = fixed(value, decimals)
            if text.count <= width { return text }
        }
        var (mantissa, exponent) = (value, 0)
        while abs(mantissa) >= 9.95, exponent < 308 {
            mantissa /= 10
            exponent += 1
        }
        return "\(fixed(mantissa, 0))e\(exponent)"
    }

    /// In at most six characters: `999999`, `1.2M`.
    static func short(_ value: Int) -> String {
        var amount = Double(value)
        guard abs(amount) >= 1e6 else { return "\(value)" }
        for unit in ["M", "G", "T"] {
            amount /= unit == "M" ? 1e6 : 1000
            if abs(amount) < 999.5 { return fixed(amount, abs(amount) < 99.5 ? 1 : 0) + unit }
        }
        return fitting(Double(value), 0, 6)
    }

    /// With thousands separators: `1,234,567`.
    package static func count(_ value: Int) -> String {
        var result = ""
        for (index, digit) in String(value.magnitude).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return (value < 0 ? "-" : "") + String(result.reversed())
    }

    /// `345 m`, `12.3 km`, `1234 km`.
    package static func distance(meters: Double) -> String {
        guard abs(meters) >= 1000 else { return fixed(meters, 0) + " m" }
        return fixed(meters / 1000, abs(meters) < 100_000 ? 1 : 0) + " km"
    }

    /// `512 B`, `4.2 kB`, `1.3 MB`; powers of 1000.
    package static func bytes(_ value: Int) -> String {
        guard value >= 1000 else { return "\(value) B" }
        var amount = Double(value) / 1000
        for unit in ["kB", "MB", "GB"] {
            if amount < 999.95 { return fixed(amount, 1) + " " + unit }
            amount /= 1000
        }
        return fixed(amount, 1) + " TB"
    }

    /// The two largest units: `8 s`, `3 min 20 s`, `4 h 05 min`, `3 d 4 h`; only days from a hundred days on.
    package static func duration(seconds: Int64) -> String {
        let seconds = max(0, seconds)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min" + (seconds < 600 ? " \(seconds % 60) s" : "") }
        if seconds < 86_400 { return "\(seconds / 3600) h \(pad(Int(seconds / 60 % 60), 2)) min" }
        let days = Int(clamping: seconds / 86_400)
        return days < 100 ? "\(days) d \(seconds / 3600 % 24) h" : "\(count(days)) d"
    }

    /// The shortest text that reads back as the same number, without a redundant `.0`.
    package static func exact(_ value: Double) -> String {
        let text = value == 0 ? "0" : "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Like `exact`, but without an exponent, which XML formats do not allow.
    package static func decimal(_ value: Double) -> String {
        let text = exact(value)
        guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]),
            abs(exponent) <= 400
        else { return text }
        let mantissa = text[..<mark].drop { $0 == "-" }
        let whole = mantissa.prefix { $0 != "." }
        let digits = mantissa.filter { $0 != "." }
        let sign = value < 0 ? "-" : ""
        let point = whole.count + exponent
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        if point >= digits.count {
            return sign + digits + String(repeating: "0", count: point - digits.count)
        }
        return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    }
}

func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
