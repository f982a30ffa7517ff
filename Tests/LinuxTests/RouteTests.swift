import Glibc
import Testing

@testable import Linux

@Suite("where a packet would go") struct RouteTests {
    @Test("what the kernel says of this machine's own address") func loopback() {
        #expect(Route.interface(to: "127.0.0.1") == "lo")
        #expect(Route.interface(to: "no address") == nil)
        #expect(Route.interface(to: "") == nil)
    }

    @Test(
        "addresses in digits",
        arguments: [
            ("192.0.2.1", [192, 0, 2, 1]), ("::1", [UInt8](repeating: 0, count: 15) + [1]),
            ("fe80::1%eth0", [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]), ("192.0.2", nil),
            ("example.com", nil), ("1.2.3.4.5", nil), ("[::1]", nil),
        ] as [(String, [UInt8]?)])
    func addresses(text: String, bytes: [UInt8]?) {
        #expect(Route.bytes(of: text) == bytes)
        #expect(Route.isAddress(text) == (bytes != nil))
    }

    @Test(
        "addresses of this machine alone",
        arguments: [
            ("127.0.0.1", true), ("127.8.9.10", true), ("::1", true), ("10.0.0.1", false), ("x", false),
        ])
    func loopbacks(text: String, isLoopback: Bool) {
        #expect(Route.isLoopback(text) == isLoopback)
    }

    @Test("a request is a header, an rtmsg and the destination") func request() {
        let bytes = Route.request(to: [1, 2, 3, 4])
        #expect(bytes.count == 36 && bytes[0] == 36 && bytes[16] == UInt8(AF_INET) && bytes[17] == 32)
        #expect(Array(bytes[28...]) == [8, 0, 1, 0, 1, 2, 3, 4])
        #expect(Route.request(to: [UInt8](repeating: 7, count: 16)).count == 48)
    }

    /// RTM_NEWROUTE with these attributes.
    private static func answer(_ attributes: [UInt8], type: UInt8 = 24, length: Int? = nil) -> [UInt8] {
        let count = length ?? 28 + attributes.count
        let head = [UInt8(count & 255), UInt8(count >> 8), 0, 0, type, 0] + [UInt8](repeating: 0, count: 22)
        return head + attributes
    }

    @Test(
        "the kernel's answers, and what is none",
        arguments: [
            (answer([8, 0, 4, 0, 3, 0, 0, 0]), 3),
            (answer([5, 0, 1, 0, 9, 0, 0, 0, 8, 0, 4, 0, 0, 1, 0, 0]), 256),
            (answer([8, 0, 1, 0, 3, 0, 0, 0]), nil), (answer([]), nil), ([], nil), (answer([], type: 2), nil),
            // Lengths that lead nowhere, or beyond the end.
            (answer([0, 0, 4, 0, 3, 0, 0, 0]), nil), (answer([3, 0, 4, 0, 3, 0, 0, 0]), nil),
            (answer([255, 255, 4, 0, 3, 0, 0, 0]), nil), (answer([6, 0, 4, 0, 3, 0]), nil),
            (answer([8, 0, 4, 0, 3, 0, 0, 0], length: 30), nil),
            (answer([8, 0, 4, 0, 3, 0, 0, 0], length: 65_535), 3),
            (answer([8, 0, 4, 0, 3, 0]), nil),
        ] as [([UInt8], UInt32?)])
    func answers(bytes: [UInt8], index: UInt32?) {
        #expect(Route.outgoing(in: bytes) == index)
    }
}
