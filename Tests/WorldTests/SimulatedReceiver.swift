import Base
import GPSD
import Glibc
import Linux

/// A gpsd with one receiver, as the daemon sees it: what is written to one end of a pair of sockets.
final class SimulatedReceiver {
    /// Until then nobody answers at its port.
    private var downUntil = instant(0)
    private let clock: () -> BootInstant
    private var descriptor: FileDescriptor?

    /// - Parameter clock: the time by now.
    init(clock: @escaping () -> BootInstant) {
        self.clock = clock
    }

    /// Nobody answers until then, and the connection is gone.
    func goDown(until end: BootInstant) {
        downUntil = end
        disconnect()
    }

    /// Connects a daemon; the one before is not heard any more.
    func dial() throws(SystemError) -> FileDescriptor {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard downUntil <= clock(), socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw SystemError("connect", code: ECONNREFUSED)
        }
        descriptor = FileDescriptor(owning: ends[0])
        return FileDescriptor(owning: ends[1])
    }

    /// A daemon listens.
    var isConnected: Bool { descriptor != nil }

    /// The connection is gone.
    func disconnect() {
        descriptor = nil
    }

    /// Answers what the daemon has asked.
    func serve() {
        guard let read = try? descriptor?.read(upTo: 4096), !read.isEmpty else { return }
        send(
            """
            {"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
            {"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyS0","activated":"2027-03-15T08:00:00.000Z"}]}
            {"class":"WATCH","enable":true,"json":true}

            """)
    }

    /// - Parameters:
    ///   - longitude: degrees; the latitude is always the same.
    ///   - speed: metres per second.
    func report(at time: Timestamp, longitude: Double, speed: Double) {
        send(
            """
            {"class":"TPV","device":"/dev/ttyS0","mode":3,"time":"\(time.iso8601)","lat":52.5,"lon":\(longitude),\
            "speed":\(speed),"epx":3.0,"epy":3.0}

            """)
    }

    private func send(_ text: String) {
        guard let raw = descriptor?.raw else { return }
        let bytes = Array(text.utf8)
        if Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) != bytes.count { descriptor = nil }
    }
}
