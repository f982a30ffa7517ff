internal import Base
internal import ControlProtocol
internal import Linux

/// What a client has sent and is not handled yet.
struct Inbox {
    /// When it last sent something, or came.
    private(set) var lastActive: BootInstant
    /// The client has sent something.
    private(set) var hasSpoken = false
    /// The client has sent its last call.
    private(set) var hasEnded = false
    /// Since when a request has been incomplete.
    private(set) var incompleteSince: BootInstant?
    private var decoder = FrameDecoder.requests()

    init(now: BootInstant) {
        lastActive = now
    }

    /// Bytes of requests that are not handled yet.
    var waitingBytes: Int { decoder.waitingBytes }

    /// Reads what has come.
    mutating func receive(from descriptor: borrowing FileDescriptor, now: BootInstant) throws(SystemError) {
        guard let bytes = try descriptor.read(upTo: 65_536) else { return }
        lastActive = now
        hasSpoken = true
        if bytes.isEmpty { hasEnded = true } else { decoder.append(bytes) }
    }

    /// The next complete call.
    mutating func nextCall(now: BootInstant) throws(ProtocolViolation) -> Call? {
        guard let frame = try decoder.next() else {
            incompleteSince = decoder.isMidFrame ? incompleteSince ?? now : nil
            return nil
        }
        incompleteSince = nil
        return try Call(decoding: frame)
    }

    /// Gives the client all its time for the rest of a request, as nothing was read for a while.
    mutating func restart(now: BootInstant) {
        if incompleteSince != nil { incompleteSince = now }
    }
}
