internal import Base
internal import Linux

/// Answers that a client has not been sent completely.
struct SendBuffer {
    private var bytes: [UInt8] = []
    private var sent = 0
    /// Since when the client has not read what it was sent.
    private(set) var stalledSince: BootInstant?

    var isEmpty: Bool { sent == bytes.count }

    /// Bytes that are not sent yet.
    var unsentBytes: Int { bytes.count - sent }

    /// Bytes of answers that are not completely sent.
    var heldBytes: Int { bytes.count }

    mutating func append(_ more: [UInt8]) {
        // Appending would need twice the memory.
        if bytes.isEmpty { bytes = more } else { bytes += more }
    }

    /// Sends what the kernel has room for.
    mutating func flush(to descriptor: borrowing FileDescriptor, now: BootInstant) throws(SystemError) {
        while !isEmpty {
            let count = try descriptor.send(bytes[sent...])
            if count == 0 {
                stalledSince = stalledSince ?? now
                return
            }
            sent += count
            stalledSince = nil
        }
        bytes.removeAll(keepingCapacity: bytes.count <= 65_536)
        sent = 0
    }
}
