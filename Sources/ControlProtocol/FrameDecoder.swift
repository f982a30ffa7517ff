internal import Glibc

/// Limits on sizes, in bytes unless noted otherwise.
package enum Limits {
    /// One call.
    package static let request = 64 * 1024
    /// One AddGeofences call, which carries the fences of a whole fleet.
    package static let largeRequest = 4 * 1024 * 1024
    /// One reply as read by a client: a page of 1000 locations is about 400 KiB.
    package static let reply = 16 * 1024 * 1024
    /// Nesting depth of arrays and objects.
    package static let depth = 64
    /// Locations in one reply of GetLocations.
    package static let page = 1000
    /// Fences in one of several replies of ListGeofences: ids may have 400 bytes.
    package static let fencePage = 500
}

/// Something no well-behaved peer sends. The connection is closed, because it is unknown where the next message
/// starts.
package enum ProtocolViolation: Error, Equatable, Sendable {
    /// A message that exceeds the limit, in bytes.
    case tooLong(limit: Int)
    case notUTF8
    /// Arrays or objects nested deeper than `Limits.depth`.
    case tooDeep
    /// Not a JSON object, or not in the form of a call or reply.
    case malformed(String)
}

/// Splits a byte stream into messages at NUL bytes. Pure: the caller reads the socket.
///
/// Runs in linear time however the stream is split, and holds at most the limit plus one read, in addition to
/// complete messages not yet taken.
package struct FrameDecoder: Sendable {
    /// Allows a higher limit for messages that contain these bytes within the normal limit.
    private struct Exception: Sendable {
        let marker: [UInt8]
        let limit: Int
    }

    /// Bytes of capacity kept between messages.
    private static let keptCapacity = 128 * 1024

    private let limit: Int
    private let exception: Exception?
    private var buffer: [UInt8] = []
    /// Start of the first message not yet taken.
    private var start = 0
    /// No NUL follows `start` up to here.
    private var scanned = 0
    /// Whether the exception applies to the first message; determined once per message, to stay linear.
    private var isExempt: Bool?

    /// - Parameter limit: maximum size of a message in bytes, without its NUL.
    package init(limit: Int) {
        self.limit = limit
        exception = nil
    }

    private init(limit: Int, exception: Exception) {
        self.limit = limit
        self.exception = exception
    }

    /// A decoder for a server: the limit is `Limits.request`, or `Limits.largeRequest` for a message that names
    /// AddGeofences within its first `Limits.request` bytes. `Call` checks the size against the method again.
    package static func requests() -> FrameDecoder {
        let marker = Array("\"\(Wire.AddGeofences.name)\"".utf8)
        return FrameDecoder(
            limit: Limits.request, exception: Exception(marker: marker, limit: Limits.largeRequest))
    }

    /// Whether an incomplete message is buffered; valid once `next()` has returned nil. A connection that ends or
    /// falls silent now was cut off in the middle of a message.
    package var isMidFrame: Bool { start < buffer.count }

    /// Number of bytes received but not yet taken.
    package var waitingBytes: Int { buffer.count - start }

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        buffer.append(contentsOf: bytes)
    }

    /// The next complete message without its NUL (possibly empty), or nil when more bytes are needed.
    ///
    /// - Throws: `ProtocolViolation.tooLong`, then again on every later call.
    package mutating func next() throws(ProtocolViolation) -> [UInt8]? {
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

    /// Discards the bytes already taken. Only called when no complete message is left, so that each byte moves at
    /// most once.
    private mutating func compact() {
        guard start > 0 else { return }
        if start == buffer.count, buffer.capacity > Self.keptCapacity {
            // A large message has been received; that is no reason to keep its capacity forever.
            buffer = []
        } else {
            buffer.removeSubrange(0..<start)
        }
        scanned -= start
        start = 0
    }
}
