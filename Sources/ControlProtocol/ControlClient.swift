internal import Glibc

/// A blocking connection to the daemon, for use by one thread.
///
/// Throws `ClientFailure` when communication fails, and `ControlError` when the daemon refuses a call. After a
/// `ClientFailure`, or when a stream was ended before its last reply, the connection can no longer be used.
package struct ControlClient: ~Copyable {
    /// Where the daemon listens by default.
    package static let defaultPath = "/run/beekond/beekond.sock"
    /// Default time to wait for a reply, in seconds.
    package static let defaultTimeoutSeconds = 10.0

    private let socket: UnixSocket
    private var decoder = FrameDecoder(limit: Limits.reply)

    package init(path: String) throws(ClientFailure) {
        self.init(try UnixSocket(path: path, timeoutSeconds: Int(Self.defaultTimeoutSeconds)))
    }

    private init(_ socket: consuming UnixSocket) {
        self.socket = socket
    }

    /// Calls a method and waits for its single reply.
    ///
    /// - Parameters:
    ///   - timeoutSeconds: for the complete reply; nil waits indefinitely.
    ///   - whileWaiting: called once a second.
    package mutating func call<M: ControlMethod>(
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

    /// Calls a method with `more`, and passes each reply to `body` until the last one, or until `body` returns false.
    ///
    /// - Parameters:
    ///   - timeoutSeconds: for each reply; nil waits indefinitely.
    ///   - descriptor: ends the stream when its reader goes away; for programs whose output is a pipe.
    package mutating func stream<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, timeoutSeconds: Double? = nil,
        whileOpen descriptor: Int32? = nil, _ body: (M.Result) throws -> Bool
    ) throws {
        try socket.send(Call.encode(method, parameters, more: true))
        while let reply = try nextReply(timeoutSeconds: timeoutSeconds, watching: descriptor) {
            guard try body(result(of: method, in: reply)), reply.continues else { return }
        }
    }

    /// The next reply; nil when `other` has lost its reader.
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

    /// Rounded up, so that poll does not return just before the deadline; at most one day.
    private static func milliseconds(_ seconds: Double) -> Int32 {
        Int32(min(max(seconds, 0), 86_400) * 1000) + 1
    }

    /// Seconds of CLOCK_BOOTTIME, which is unaffected by steps of the system clock.
    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
