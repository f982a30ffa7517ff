internal import Base
internal import Glibc
internal import Linux
internal import Tracking

extension Source {
    /// Starts connecting to the next address. If a name has several they are tried in turn without delay; the
    /// back-off applies only after the last one.
    mutating func connect(now: BootInstant, after failure: SystemError? = nil) throws(SystemError) {
        var failure = failure
        while let open = try dialler(host, port, addressIndex) {
            addressIndex += 1
            do {
                let opened = try open()
                descriptor = opened.raw
                socket = Socket(opened)
                state = .connecting(since: now)
                return
            } catch {
                failure = error
            }
        }
        addressIndex = 0
        throw failure ?? SystemError("connect to \(host):\(port)", code: ECONNREFUSED)
    }

    mutating func finishConnecting(
        since: BootInstant, now: BootInstant, _ events: inout [Event]
    ) throws(SystemError) {
        var rest = Rest()
        rest.add(descriptor, read: false, write: true)
        rest.wait(seconds: 0)
        guard rest.isWritable(0) else {
            guard now.seconds(since: since) >= Self.connectTimeout else { return }
            disconnect()
            return try connect(now: now, after: SystemError("connect to \(host):\(port)", code: ETIMEDOUT))
        }
        do {
            try socket?.finishConnecting()
        } catch {
            disconnect()
            return try connect(now: now, after: SystemError("connect to \(host):\(port)", code: error.code))
        }
        addressIndex = 0
        try socket?.send("?WATCH={\"enable\":true,\"json\":true};\n")
        state = .watching(lastHeard: now, askedAt: nil)
        events.append(.connected)
    }

    mutating func dropConnection(reason: String, now: BootInstant) -> Event {
        if case .watching = state { facts.reconnects += 1 }
        disconnect()
        let delay = backOff.next(using: &random)
        state = .waiting(until: now.advanced(bySeconds: delay))
        return .disconnected(reason: reason, retryIn: delay)
    }

    mutating func disconnect() {
        socket = nil
        descriptor = -1
        devices = nil
        lastFix = nil
        facts.device = nil
        facts.mode = 0
        facts.satellitesUsed = nil
        facts.satellitesVisible = nil
        epochs = Epochs()
    }
}
