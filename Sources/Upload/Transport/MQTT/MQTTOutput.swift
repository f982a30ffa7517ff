/// Bytes that wait to be sent, and how far the publication among them has got.
struct MQTTOutput: Sendable {
    /// What has not gone out.
    private(set) var bytes: [UInt8] = []
    /// Where the publication stands among these; below 0 is what has gone out. nil: there is none.
    private var publication: Range<Int>?

    var isEmpty: Bool { bytes.isEmpty }
    /// Some of the publication has gone out.
    var hasBegunPublication: Bool { publication.map { $0.lowerBound < 0 } ?? false }
    /// All of it has.
    var hasSentPublication: Bool { publication.map { $0.upperBound <= 0 } ?? false }

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
