internal import CLinux
internal import Glibc

/// Where the kernel would send a packet (rtnetlink). Nothing is sent, and nothing is waited for: the kernel answers while it
/// is asked.
package enum Route {
    /// A public address of each family, a.root-servers.net: what is behind no nearer route takes the default one to it.
    private static let faraway = ["198.41.0.4", "2001:503:ba3e::2:30"]
    /// Bytes of a netlink header, and of an rtmsg behind it.
    private static let (headerSize, messageSize) = (16, 12)

    /// - Parameter address: IPv4 or IPv6 in digits, with a zone or without.
    /// - Returns: the name of the interface; nil when there is no route, or the address is none.
    package static func interface(to address: String) -> String? {
        guard let address = bytes(of: address), let answer = try? ask(request(to: address)),
            let index = outgoing(in: answer)
        else { return nil }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard if_indextoname(index, &name) != nil else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The interface of the default route: that of IPv4, or else that of IPv6; nil when there is none.
    package static var defaultInterface: String? { faraway.lazy.compactMap { interface(to: $0) }.first }

    package static func isAddress(_ text: String) -> Bool { bytes(of: text) != nil }

    /// An address of this machine that is no other's.
    package static func isLoopback(_ text: String) -> Bool {
        guard let address = bytes(of: text) else { return false }
        return address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// The address in the order of the network: 4 or 16 bytes.
    static func bytes(of text: String) -> [UInt8]? {
        let digits = String(text.prefix { $0 != "%" })
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, digits, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// RTM_GETROUTE with the destination as its only attribute.
    static func request(to address: [UInt8]) -> [UInt8] {
        let family = address.count == 4 ? AF_INET : AF_INET6
        let attribute = native(UInt16(4 + address.count)) + native(UInt16(RTA_DST.rawValue)) + address
        let message =
            [UInt8(family), UInt8(address.count * 8)] + [UInt8](repeating: 0, count: 10) + attribute
        return native(UInt32(headerSize + message.count)) + native(UInt16(RTM_GETROUTE))
            + native(UInt16(NLM_F_REQUEST)) + native(UInt32(1)) + native(UInt32(0)) + message
    }

    private static func native(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private static func ask(_ request: [UInt8]) throws(SystemError) -> [UInt8] {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let link = FileDescriptor(
            owning: try retrying("netlink socket") { socket(AF_NETLINK, type, Int32(NETLINK_ROUTE)) })
        guard request.withUnsafeBytes({ send(link.raw, $0.baseAddress, $0.count, 0) }) == request.count
        else { throw SystemError("send netlink") }
        return try link.read(upTo: 4096) ?? []
    }

    /// The number of the interface in the kernel's answer: RTA_OIF (32 bits) among the attributes of RTM_NEWROUTE.
    static func outgoing(in answer: [UInt8]) -> UInt32? {
        func word<Word: FixedWidthInteger>(_ offset: Int, as _: Word.Type) -> Word {
            answer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Word.self) }
        }
        guard answer.count >= headerSize + messageSize, word(4, as: UInt16.self) == UInt16(RTM_NEWROUTE)
        else { return nil }
        let end = min(Int(word(0, as: UInt32.self)), answer.count)
        var start = headerSize + messageSize
        while start + 4 <= end {
            let length = Int(word(start, as: UInt16.self))
            guard length >= 4, start + length <= end else { return nil }
            if word(start + 2, as: UInt16.self) == UInt16(RTA_OIF.rawValue), length >= 8 {
                return word(start + 4, as: UInt32.self)
            }
            start += (length + 3) & ~3
        }
        return nil
    }
}
