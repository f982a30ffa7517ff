import CZlib
import Support
import Testing

@testable import Envelope

/// A stream that says what went wrong.
private final class Packer {
    private let gzip: Gzip

    init() throws {
        guard let gzip = Gzip() else { throw SetUpFailed(operation: "zlib", code: 0) }
        self.gzip = gzip
    }

    func pack(_ bytes: [UInt8]) throws -> [UInt8] {
        guard let packed = gzip.compress(bytes) else { throw SetUpFailed(operation: "compress", code: 0) }
        return packed
    }
}

@Suite("compression")
struct GzipTests {
    /// Unpacks with zlib, which holds the checksum and the length against the trailer.
    private func unpacked(_ bytes: [UInt8], room: Int) throws -> [UInt8] {
        var stream = z_stream()
        try #require(czlib_gunzip_init(&stream) == Z_OK)
        defer { inflateEnd(&stream) }
        var input = bytes
        var result = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: room + 1) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                result = inflate(&stream, Z_FINISH)
                count = output.count - Int(stream.avail_out)
            }
        }
        #expect(result == Z_STREAM_END)
        #expect(stream.avail_in == 0, "nothing follows the trailer")
        return output
    }

    private static let inputs: [(name: String, bytes: [UInt8])] = {
        var random = SeededGenerator(seed: 7)
        let noise = (0..<1 << 20).map { _ in UInt8.random(in: 0...255, using: &random) }
        let text = Array(
            repeating: Array("{\"latitude\":37.7749,\"longitude\":-122.4194},".utf8), count: 24_000)
        return [
            ("nothing", []), ("a byte", [0]), ("zeros", [UInt8](repeating: 0, count: 1 << 20)),
            ("text", Array(text.joined())), ("noise", noise), ("a little noise", Array(noise.prefix(100))),
        ]
    }()

    @Test("what goes in comes out, through one stream")
    func roundTrip() throws {
        let gzip = try Packer()
        for (name, bytes) in Self.inputs + Self.inputs.reversed() {
            let packed = try gzip.pack(bytes)
            #expect(try unpacked(packed, room: bytes.count) == bytes, "\(name)")
            #expect(packed.count <= bytes.count + bytes.count / 1000 + 64, "\(name)")
        }
    }

    @Test("the same input gives the same bytes, whatever came before and whichever stream it is")
    func same() throws {
        let first = try Packer()
        let second = try Packer()
        for (name, bytes) in Self.inputs {
            let packed = try first.pack(bytes)
            #expect(try first.pack(bytes) == packed, "\(name)")
            _ = try second.pack(Array("something else".utf8))
            #expect(try second.pack(bytes) == packed, "\(name)")
        }
    }

    @Test("the header carries no time, no name, and nothing else")
    func header() throws {
        let packed = try Packer().pack([1, 2, 3])
        #expect(packed.prefix(10) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
    }
}
