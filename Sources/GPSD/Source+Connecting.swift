internal import Base
internal import Glibc
internal import Linux
internal import Tracking

extension Source {
    /// Starts connecting, or asking where to.
    mutating func connect(now: BootInstant) throws(SystemError) {
        // Nobody is asked twice at once: a resolver that hangs would cost a thread each time.
        if let lookup, lookup.result == nil { return wait(for: lookup, now: now) }
        switch try dialler.lookUp(host, port) {
        case .known(let dials): try dial(dials[...], now: now)
        case .asked(let lookup): wait(for: lookup, now: now)
        }
    }

    private mutating func wait(for asked: HostLookup, now: BootInstant) {
        lookup = asked
        descriptor = asked.descriptor
        state = .lookingUp(asked, since: now)
    }

    mutating func finishLookup(_ asked: HostLookup, since: BootInstant, now: BootInstant) throws(SystemError)
    {
        guard let answer = asked.result else {
            guard now.seconds(since: since) >= Self.lookupTimeout else { return }
            throw SystemError("look up \(host): no answer from the resolver", code: ETIMEDOUT)
        }
        lookup = nil
        descriptor = -1
        try dial(Dialler.dials(try answer.get())[...], now: now)
    }

    /// Starts connecting to the next address. If a name has several they are tried in turn without delay; the
    /// back-off applies only after the last one.
    private mutating func dial(
        _ dials: ArraySlice<Dialler.Dial>, now: BootInstant, after failure: SystemError? = nil
    ) throws(SystemError) {
        var (dials, failure) = (dials, failure)
        while let dial = dials.popFirst() {
            do {
                let opened = try dial()
                descriptor = opened.raw
                socket = Socket(opened)
                state = .connecting(since: now, others: dials)
                return
            } catch {
                failure = error
            }
        }
        throw failure ?? SystemError("connect to \(host):\(port)", code: ECONNREFUSED)
    }

    mutating func finishConnecting(
        since: BootInstant, others: ArraySlice<Dialler.Dial>, now: BootInstant, _ events: inout [Event]
    ) throws(SystemError) {
        var rest = Rest()
        rest.add(descriptor, read: false, write: true)
        rest.wait(seconds: 0)
        guard rest.isWritable(0) else {
            guard now.seconds(since: since) >= Self.connectTimeout else { return }
            disconnect()
            return try dial(
                others, now: now, after: SystemError("connect to \(host):\(port)", code: ETIMEDOUT))
        }
        do {
            try socket?.finishConnecting()
        } catch {
            disconnect()
            return try dial(
                others, now: now, after: SystemError("connect to \(host):\(port)", code: error.code))
        }
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
