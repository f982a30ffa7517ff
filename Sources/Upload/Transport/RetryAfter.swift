package import Base

/// The `Retry-After` header: seconds, or a date (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// An hour: no server may silence the uploader for longer.
    package static let limit = 3600.0

    /// Seconds to wait, 0…3600; nil when the text is neither.
    ///
    /// - Parameter time: the best clock known; a date needs one.
    package static func seconds(_ text: String, at time: Timestamp) -> Double? {
        let trimmed = text.drop { $0 == " " }
        guard trimmed.utf8.count <= 64 else { return nil }
        if !trimmed.isEmpty, trimmed.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        {
            return min(Double(trimmed) ?? limit, limit)
        }
        return date(trimmed).map { min(max($0.seconds(since: time), 0), limit) }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may still be sent.
    private static func date(_ text: some StringProtocol) -> Timestamp? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let number = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp(iso8601: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}
