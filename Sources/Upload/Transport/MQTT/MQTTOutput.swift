/// Bytes that wait to be sent, and how far the publication among them has got.
struct MQTTOutput: Sendable {
    /// What has not gone out.
    private(set) var bytes: [UInt8] = []
    /// Where the publication stands among these; below 0 is what has gone out. nil: there is none.
    private var publication: Range<Int>?

    var isEmpty: Bool { bytes.isEmpty }
    /// Whether some of the publication has gone out.
    var hasBegunPublication: Bool { publication.map { $0.lowerBound < 0 } ?? false }

    /// All of it has, and is with the machine at the other end.
    ///
    /// - Parameter unacknowledged: bytes that have gone out and were not acknowledged by that machine. If something else has
    ///   gone out behind the publication they may be of that, and count for nothing.
    func hasDeliveredPublication(unacknowledged: Int) -> Bool {
        guard let end = publication?.upperBound else { return false }
        return end < 0 || end == 0 && unacknowledged == 0
    }

    mutating func append(_ more: [UInt8]) {
        bytes += more
    }

    mutating func appendPublication(_ more: [UInt8]) {
        publication = bytes.count..<(bytes.count + more.count)
        bytes += more
    }

    /// The next one is another.
    mutating func forgetPublication() {
        publication = nil
    }

    mutating func wrote(_ count: Int) {
        bytes.removeFirst(min(count, bytes.count))
        publication = publication.map { ($0.lowerBound - count)..<($0.upperBound - count) }
    }
}
