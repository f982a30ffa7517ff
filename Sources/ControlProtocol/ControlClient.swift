internal import Glibc

/// A connection to the daemon, for one thread. Calls block.
///
/// Throws `ClientFailure` when the daemon cannot be talked to, and `ControlError` for what it refuses. After
/// a `ClientFailure`, and after a stream that ended before its last reply, the connection is of no more use.
public struct ControlClient: ~Copyable {
    /// Where the daemon listens unless told otherwise.
    public static let defaultPath = "/run/beekond/beekond.sock"
    /// How long a call waits for its reply, in seconds.
    public static let defaultTimeoutSeconds = 10.0

    private let socket: UnixSocket
    private var decoder = FrameDecoder(limit: Limits.reply)

    /// Connects to the socket at `path`.
    public init(path: String) throws(ClientFailure) {
        socket = try UnixSocket(path: path, timeoutSeconds: Int(Self.defaultTimeoutSeconds))
    }

    /// Calls a method and waits for its one reply.
    /// - Parameters:
    ///   - timeoutSeconds: for the whole reply; nil waits for ever.
    ///   - whileWaiting: called once a second.
    public mutating func call<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters,
        timeoutSeconds: Double? = ControlClient.defaultTimeoutSeconds, whileWaiting: (() -> Void)? = nil
    ) throws -> M.Result {
        try socket.send(Call.encode(method, parameters))
        guard
            let reply = try nextReply(
                timeoutSeconds: timeoutSeconds, watching: nil, whileWaiting: whileWaiting)
        else {
            throw ClientFailure.closed
        }
        return try result(of: method, in: reply)
    }

    /// Calls a method with `more`, and hands each reply to `body` until the last one, or until `body` returns
    /// false.
    /// - Parameters:
    ///   - timeoutSeconds: for each reply; nil waits for ever.
    ///   - descriptor: ends the stream when its reader goes away; for a program whose output is a pipe.
    public mutating func stream<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, timeoutSeconds: Double? = nil,
        whileOpen descriptor: Int32? = nil, _ body: (M.Result) throws -> Bool
    ) throws {
        try socket.send(Call.encode(method, parameters, more: true))
        while let reply = try nextReply(timeoutSeconds: timeoutSeconds, watching: descriptor) {
            guard try body(result(of: method, in: reply)), reply.continues else { return }
        }
    }

    /// The next reply, or nil when `other` has lost its reader.
    private mutating func nextReply(
        timeoutSeconds: Double?, watching other: Int32?, whileWaiting: (() -> Void)? = nil
    ) throws -> Reply? {
        let deadline = timeoutSeconds.map { Self.now() + $0 }
        while true {
            do {
                if let frame = try decoder.next() { return try Reply(decoding: frame) }
            } catch {
                throw ClientFailure.violation(error)
            }
            let left = deadline.map { $0 - Self.now() }
            if let left, left <= 0 { throw ClientFailure.timedOut(seconds: timeoutSeconds ?? 0) }
            let nap = whileWaiting == nil ? left : min(left ?? 1, 1)
            switch try socket.wait(milliseconds: nap.map(Self.milliseconds), other: other) {
            case .otherHungUp: return nil
            case .timedOut: whileWaiting?()
            case .readable:
                let bytes = try socket.receive()
                guard !bytes.isEmpty else { throw ClientFailure.closed }
                decoder.append(bytes)
            }
        }
    }

    private func result<M: ControlMethod>(of method: M.Type, in reply: Reply) throws -> M.Result {
        do {
            return try reply.result(of: method)
        } catch let violation as ProtocolViolation {
            throw ClientFailure.violation(violation)
        }
    }

    /// Rounded up, so that poll does not return just before the deadline; at most a day at a time.
    private static func milliseconds(_ seconds: Double) -> Int32 {
        Int32(min(max(seconds, 0), 86_400) * 1000) + 1
    }

    /// Seconds of the boot clock, which clock steps do not move.
    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
