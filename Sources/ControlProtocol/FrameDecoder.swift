internal import Glibc

/// Sizes that nobody may exceed, in bytes unless said otherwise.
public enum Limits {
    /// One call.
    public static let request = 64 * 1024
    /// One AddGeofences call: a fleet's worth of fences comes in one piece.
    public static let largeRequest = 4 * 1024 * 1024
    /// One reply, as read by a client: a page of 1000 locations is about 400 KiB.
    public static let reply = 16 * 1024 * 1024
    /// Arrays and objects inside each other, in levels.
    public static let depth = 64
    /// Locations in one reply of GetLocations, in rows.
    public static let page = 1000
    /// Fences in one of several replies of ListGeofences: ids may have 400 bytes.
    public static let fencePage = 500
}

/// What no well-behaved peer sends. The connection it came from is closed: after it, nobody knows where the
/// next message begins.
public enum ProtocolViolation: Error, Equatable, Sendable {
    /// A message without an end within the limit, in bytes.
    case tooLong(limit: Int)
    /// Bytes that are no UTF-8.
    case notUTF8
    /// Arrays or objects nested deeper than `Limits.depth`.
    case tooDeep
    /// No JSON object, or not of the shape of a call or reply.
    case malformed(String)
}

/// Splits a byte stream into messages at NUL bytes. Pure: the caller reads the socket.
///
/// Takes linear time however the stream is cut into pieces, and holds at most one limit plus one piece of
/// bytes besides the complete messages not yet taken.
public struct FrameDecoder: Sendable {
    /// Messages that may exceed the limit: those that hold these bytes within it.
    private struct Exception: Sendable {
        let marker: [UInt8]
        let limit: Int
    }

    /// Bytes of room that are kept between messages.
    private static let keptCapacity = 128 * 1024

    private let limit: Int
    private let exception: Exception?
    private var buffer: [UInt8] = []
    /// Where the first message not yet taken begins.
    private var start = 0
    /// Up to here no NUL follows `start`.
    private var scanned = 0
    /// Whether the exception holds for the first message; looked up once a message, for the sake of linear
    /// time.
    private var isExempt: Bool?

    /// - Parameter limit: the most bytes of one message, without its NUL.
    public init(limit: Int) {
        self.limit = limit
        exception = nil
    }

    private init(limit: Int, exception: Exception) {
        self.limit = limit
        self.exception = exception
    }

    /// A decoder for what a server reads: `Limits.request`, and `Limits.largeRequest` for a message that
    /// names AddGeofences within its first `Limits.request` bytes. `Call` holds the name against the size
    /// again.
    public static func requests() -> FrameDecoder {
        let marker = Array("\"\(Wire.AddGeofences.name)\"".utf8)
        return FrameDecoder(
            limit: Limits.request, exception: Exception(marker: marker, limit: Limits.largeRequest))
    }

    /// Whether bytes of an incomplete message are waiting; valid once `next()` has returned nil. A connection
    /// that ends or falls silent now was cut in the middle.
    public var isMidFrame: Bool { start < buffer.count }

    /// Bytes that have come and were not taken.
    public var waitingBytes: Int { buffer.count - start }

    /// Adds bytes read from the stream.
    public mutating func append(_ bytes: some Sequence<UInt8>) {
        buffer.append(contentsOf: bytes)
    }

    /// The next complete message without its NUL (possibly empty), or nil when more bytes are needed.
    ///
    /// Throws `ProtocolViolation.tooLong`, and again at every later call.
    public mutating func next() throws(ProtocolViolation) -> [UInt8]? {
        guard let end = indexOfNUL() else {
            scanned = buffer.count
            try check(length: buffer.count - start)
            compact()
            return nil
        }
        try check(length: end - start)
        let frame = Array(buffer[start..<end])
        start = end + 1
        scanned = start
        isExempt = nil
        return frame
    }

    private func indexOfNUL() -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, scanned < bytes.count else { return nil }
            guard let found = memchr(base + scanned, 0, bytes.count - scanned) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    private mutating func check(length: Int) throws(ProtocolViolation) {
        guard length > limit else { return }
        guard let exception else { throw .tooLong(limit: limit) }
        let exempt = isExempt ?? beginning(holds: exception.marker)
        isExempt = exempt
        guard exempt else { throw .tooLong(limit: limit) }
        guard length <= exception.limit else { throw .tooLong(limit: exception.limit) }
    }

    private func beginning(holds marker: [UInt8]) -> Bool {
        buffer[start...].prefix(limit).withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let first = marker.first else { return false }
            var place = 0
            while bytes.count - place >= marker.count {
                let room = bytes.count - marker.count + 1 - place
                guard let found = memchr(base + place, Int32(first), room) else { return false }
                if memcmp(found, marker, marker.count) == 0 { return true }
                place = UnsafeRawPointer(found) - base + 1
            }
            return false
        }
    }

    /// Drops what was taken. Only when no complete message is left, so each byte moves at most once.
    private mutating func compact() {
        guard start > 0 else { return }
        if start == buffer.count, buffer.capacity > Self.keptCapacity {
            // A fleet's worth of fences has come once; that is no reason to keep the room for ever.
            buffer = []
        } else {
            buffer.removeSubrange(0..<start)
        }
        scanned -= start
        start = 0
    }
}
