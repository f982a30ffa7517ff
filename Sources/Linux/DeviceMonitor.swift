internal import CLinux
internal import Glibc

/// Hears what the kernel says of devices (netlink, KOBJECT_UEVENT).
package struct DeviceMonitor: ~Copyable {
    /// What the kernel says of one.
    package struct Event: Equatable, Sendable {
        /// What happened, such as `change`, `add` or `remove`.
        package var action: String
        /// In sysfs, below `/sys`.
        package var path: String

        package init(action: String, path: String) {
            self.action = action
            self.path = path
        }
    }

    /// Group of what the kernel sends; udev has another.
    private static let kernel: UInt32 = 1
    /// More than the kernel writes into one.
    private static let limit = 8192
    /// Events in one call; the rest is read in the next.
    private static let round = 256

    private let descriptor: FileDescriptor

    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    package init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let opened = FileDescriptor(
            owning: try retrying("netlink socket") {
                socket(AF_NETLINK, type, Int32(NETLINK_KOBJECT_UEVENT))
            })
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = Self.kernel
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(opened.raw, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind netlink") }
        self.init(owning: opened)
    }

    /// - Parameter descriptor: each read gives one event as the kernel writes it, without waiting.
    package init(owning descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Some of the events since the last call, in order. nil among them: there were more than there was room for, or one
    /// that does not read.
    ///
    /// Whoever could forge one has no more of it than that somebody looks.
    package func receive() -> [Event?] {
        var events: [Event?] = []
        while events.count < Self.round {
            do {
                guard let bytes = try descriptor.read(upTo: Self.limit), !bytes.isEmpty else { break }
                events.append(Self.event(in: bytes))
            } catch {
                // ENOBUFS: the next read goes on with what there was room for. Anything else stays.
                events.append(nil)
                if error.code != ENOBUFS { break }
            }
        }
        return events
    }

    /// Parses one: `ACTION@PATH`, ended by a NUL byte, and the same again with more in fields.
    static func event(in bytes: [UInt8]) -> Event? {
        let head = bytes.prefix { $0 != 0 }
        guard let separator = head.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        return Event(
            action: String(decoding: head[..<separator], as: UTF8.self),
            path: String(decoding: head[(separator + 1)...], as: UTF8.self))
    }
}
