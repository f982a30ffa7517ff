import Glibc
import Linux
import Support
import Synchronization

/// Stands between a client and a broker: counts what passes, and can lose it. One connection after the other.
final class Relay: Sendable {
    private let server: RawServer
    private let passed: Passed

    final class Passed: Sendable {
        /// Bytes, both ways.
        let count = Atomic(0)
        /// Everything is read, and nothing passed on: so a link looks that is gone without a word.
        let isMute = Atomic(false)
    }

    /// - Parameter isProxy: an HTTP proxy, which wants to be asked with CONNECT first.
    init(to port: UInt16, isProxy: Bool = false) throws {
        let passed = Passed()
        self.passed = passed
        server = try RawServer { link in
            if isProxy {
                guard let head = link.head(), head.starts(with: "CONNECT broker.invalid:\(port) ".utf8) else {
                    return
                }
                link.send("HTTP/1.1 200 OK\r\n\r\n")
            }
            let upstream = connectToLoopback(port)
            guard upstream >= 0 else { return }
            Self.carry(link, upstream, passed)
            close(upstream)
        }
    }

    var port: UInt16 { server.port }
    var connections: Int { server.connections }
    var bytes: Int { passed.count.load(ordering: .sequentiallyConsistent) }

    func mute() {
        passed.isMute.store(true, ordering: .sequentiallyConsistent)
    }

    /// Waits until the connection has ended on both sides.
    func isAtRest() -> Bool { server.isAtRest() }

    private static func carry(_ link: Link, _ upstream: Int32, _ passed: Passed) {
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            var poll = Rest()
            poll.add(link.raw)
            poll.add(upstream)
            poll.wait(seconds: 60)
            for (index, source) in [link.raw, upstream].enumerated() where poll.isReadable(index) {
                let count = recv(source, &piece, piece.count, 0)
                guard count > 0 else { return }
                passed.count.add(count, ordering: .sequentiallyConsistent)
                guard !passed.isMute.load(ordering: .sequentiallyConsistent) else { continue }
                let target = index == 0 ? upstream : link.raw
                guard send(target, piece, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
        }
    }
}
