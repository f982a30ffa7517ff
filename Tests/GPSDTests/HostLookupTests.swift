import Base
import Linux
import Support
import Synchronization
import Testing

@testable import GPSD

/// A resolver that answers when the test says so.
private final class SlowResolver: Sendable {
    private let questions = Mutex(0)
    private let answer = Mutex<HostLookup.Answer?>(nil)
    private let arrived: Wakeup

    init() throws {
        arrived = try Wakeup()
    }

    var count: Int { questions.withLock { $0 } }

    func say(_ answer: HostLookup.Answer) {
        self.answer.withLock { $0 = answer }
        arrived.signal()
    }

    /// Counts the questions as they are put, not as its threads come to run.
    var dialler: Dialler {
        let network = Dialler.network { [self] _, _ in
            var rest = Rest()
            rest.add(arrived.descriptor)
            rest.wait(seconds: 60)
            return answer.withLock { $0 } ?? .success([])
        }
        return Dialler { [self] (host, port) throws(SystemError) in
            let lookup = try network.lookUp(host, port)
            if case .asked = lookup { questions.withLock { $0 += 1 } }
            return lookup
        }
    }
}

@Suite("asking where a host is") struct HostLookupTests {
    private func source(_ resolver: SlowResolver, port: UInt16) throws -> Source {
        guard let source = Source(host: "gps.example", port: port, device: "", dialler: resolver.dialler)
        else {
            throw NoMemory()
        }
        return source
    }

    @Test("a resolver that is slow keeps nobody waiting, and is asked once")
    func slow() throws {
        let (gpsd, resolver) = (try FakeGPSD(), try SlowResolver())
        var source = try source(resolver, port: gpsd.port)
        source.acquire(now: boot(0))
        #expect(source.run(now: boot(0)).isEmpty)
        #expect(source.deadline == boot(Source.lookupTimeout))
        #expect(source.run(now: boot(29)).isEmpty)
        // It hangs: that is told, and the next attempt waits for the same answer.
        let events = source.run(now: boot(30))
        guard case .disconnected(let reason, let delay)? = events.first else {
            Issue.record("nobody was told: \(events)")
            return
        }
        #expect(events.count == 1 && reason.contains("no answer from the resolver"))
        #expect(source.run(now: boot(30 + delay)).isEmpty)
        #expect(source.health(now: boot(31), isSettled: false) == .disconnected)
        #expect(resolver.count == 1)
        // The answer wakes the loop, and the connection follows.
        resolver.say(Address.resolve(host: "127.0.0.1", port: gpsd.port))
        var rest = Rest()
        rest.add(source.descriptor)
        rest.wait(seconds: 20)
        #expect(rest.isReadable(0))
        _ = source.run(now: boot(31 + delay))
        rest = Rest()
        rest.add(source.descriptor, read: false, write: true)
        rest.wait(seconds: 20)
        #expect(source.run(now: boot(31 + delay)) == [.connected])
        #expect(resolver.count == 1)
    }

    @Test("what it answers is told when there is no such host, or no address of one")
    func refused() throws {
        for (answer, words) in [
            (HostLookup.Answer.failure(SystemError("look up gps.example: none", code: 113)), "none"),
            (.success([]), "connect to gps.example"),
        ] {
            let resolver = try SlowResolver()
            var source = try source(resolver, port: 1)
            source.acquire(now: boot(0))
            #expect(source.run(now: boot(0)).isEmpty)
            resolver.say(answer)
            var rest = Rest()
            rest.add(source.descriptor)
            rest.wait(seconds: 20)
            guard case .disconnected(let reason, _)? = source.run(now: boot(1)).first else {
                Issue.record("nobody was told of \(answer)")
                continue
            }
            #expect(reason.contains(words))
            #expect(source.descriptor == -1)
        }
    }

    @Test("digits are asked of nobody", arguments: ["127.0.0.1", "::1"])
    func digits(host: String) throws {
        let resolver = try SlowResolver()
        guard case .known(let dials) = try resolver.dialler.lookUp(host, 2947) else {
            Issue.record("somebody was asked")
            return
        }
        #expect(dials.count == 1 && resolver.count == 0)
    }
}
