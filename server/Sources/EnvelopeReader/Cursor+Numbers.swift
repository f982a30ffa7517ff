extension Cursor {
    /// The powers of ten that a Double holds exactly.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
        1e19, 1e20, 1e21, 1e22,
    ]

    /// Moves past a number, which becomes the Double nearest to it.
    ///
    /// Up to 15 digits and a power of ten up to 22 are exact as Doubles, so that one rounded division is right (Clinger,
    /// "How to read floating point numbers accurately", 1990). beekond's numbers are nearly all of that kind.
    mutating func number() throws(Wrong) -> Double {
        let start = position
        let isNegative = consume("-")
        var (mantissa, digits, scale): (UInt64, Int, Int) = (0, 0, 0)
        if consume("0") {
            if let byte = next, Self.isDigit(byte) { throw Wrong(reason: "is a number that begins with 0") }
        } else {
            guard let byte = next, Self.isDigit(byte) else {
                position = start
                throw Wrong(reason: next == nil ? "ends where a value was expected" : "is no number")
            }
            try digitRun(&mantissa, &digits)
        }
        if consume(".") {
            let before = position
            try digitRun(&mantissa, &digits)
            scale = before - position
            guard scale < 0 else { throw Wrong(reason: "is a number that ends with a point") }
        }
        var hasExponent = false
        if consume("e") || consume("E") {
            hasExponent = true
            if !consume("+") { _ = consume("-") }
            var (ignored, count): (UInt64, Int) = (0, 0)
            try digitRun(&ignored, &count)
            guard bytes[position - 1] >= UInt8(ascii: "0"), bytes[position - 1] <= UInt8(ascii: "9") else {
                throw Wrong(reason: "is a number without digits in its exponent")
            }
        }
        guard position - start <= limits.number else { throw tooLong }
        let value: Double
        guard digits <= 15, !hasExponent, scale >= -22 else {
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            guard let parsed = Double(text), parsed.isFinite else { throw Wrong(reason: "is out of range") }
            return parsed
        }
        value = Double(mantissa) / Self.powers[-scale]
        return isNegative && value != 0 ? -value : value
    }

    private var tooLong: Wrong {
        Wrong(kind: .tooLarge, reason: "is a number of more than \(limits.number) characters")
    }

    /// - Parameter digits: those that count: zeros before the first other one do not.
    @inline(__always) private mutating func digitRun(_ mantissa: inout UInt64, _ digits: inout Int)
        throws(Wrong)
    {
        let start = position
        while position < bytes.count, Self.isDigit(bytes[position]) {
            if digits < 18 { mantissa = mantissa &* 10 &+ UInt64(bytes[position] &- UInt8(ascii: "0")) }
            if digits > 0 || mantissa > 0 { digits += 1 }
            position += 1
        }
        guard position - start <= limits.number else { throw tooLong }
    }

    @inline(__always) private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}
