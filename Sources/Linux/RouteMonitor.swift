internal import CLinux
internal import Glibc

/// Watches for default routes appearing and vanishing (rtnetlink).
package struct RouteMonitor: ~Copyable {
    /// What happened to a default route.
    package enum Change: Equatable, Sendable { case appeared, vanished }

    private let descriptor: FileDescriptor

    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    package init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let opened = FileDescriptor(
            owning: try retrying("netlink socket") { socket(AF_NETLINK, type, Int32(NETLINK_ROUTE)) })
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = UInt32(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(opened.raw, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind netlink") }
        descriptor = opened
    }

    /// The changes since the last call, in order. Losing some to a full buffer is harmless: later ones follow.
    package func receive() -> [Change] {
        var changes: [Change] = []
        while let bytes = try? descriptor.read(upTo: 16_384), !bytes.isEmpty {
            changes += Self.changes(in: bytes)
        }
        return changes
    }

    /// Parses one datagram: messages with a length (32 bits), a type (16) and, for routes, an rtmsg at byte 16, whose
    /// second byte is the prefix length and whose fifth is the table.
    static func changes(in bytes: [UInt8]) -> [Change] {
        var changes: [Change] = []
        var start = 0
        while start + 16 <= bytes.count {
            let length = bytes.withUnsafeBytes {
                Int($0.loadUnaligned(fromByteOffset: start, as: UInt32.self))
            }
            let type = bytes.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: start + 4, as: UInt16.self)
            }
            guard length >= 16, start + length <= bytes.count else { break }
            if length >= 28, bytes[start + 17] == 0, bytes[start + 20] == UInt8(RT_TABLE_MAIN.rawValue) {
                if type == UInt16(RTM_NEWROUTE) { changes.append(.appeared) }
                if type == UInt16(RTM_DELROUTE) { changes.append(.vanished) }
            }
            start += (length + 3) & ~3
        }
        return changes
    }
}
