import CZlib
import Testing

@testable import EnvelopeReader

@Suite("gunzip") struct GunzipTests {
    private func pack(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        try #require(czlib_gzip_init(&stream, 9) == Z_OK)
        defer { deflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: bytes.count / 100 + 1000))
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? output.count - Int(stream.avail_out) : 0
            }
        }
        return Array(output[..<count])
    }

    private func unpack(_ bytes: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
        var result: Result<[UInt8], Fault>?
        bytes.withUnsafeBytes { bytes in
            result = Result { () throws(Fault) in try Gunzip.unpack(bytes, limit: limit) }
        }
        guard let result else { return [] }
        return try result.get()
    }

    @Test("unpacks up to the limit and not one byte more", arguments: [0, 1, 4095, 4096, 100_000])
    func limit(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let packed = try pack(bytes)
        #expect(try unpack(packed, limit: count) == bytes)
        #expect(try unpack(packed, limit: count + 1000) == bytes)
        if count > 0 {
            #expect(throws: Fault(.tooLarge, reason: "unpacks to more than \(count - 1) bytes")) {
                try unpack(packed, limit: count - 1)
            }
        }
    }

    @Test("a bomb is given up at the limit") func bomb() throws {
        let packed = try pack([UInt8](repeating: 0, count: 64 << 20))
        #expect(packed.count < 100_000)
        #expect(throws: Fault(.tooLarge, reason: "unpacks to more than 4096 bytes")) {
            try unpack(packed, limit: 4096)
        }
    }

    @Test("cut at any byte, with bytes behind it, and damaged anywhere: refused") func damage() throws {
        let packed = try pack(Array(Samples.envelope().utf8))
        for count in 0..<packed.count {
            #expect(throws: Fault.self, "\(count)") { try unpack(Array(packed[..<count]), limit: 100_000) }
        }
        #expect(throws: Fault.self) { try unpack(packed + [0], limit: 100_000) }
        // The first ten bytes have flags and a time that mean nothing to gzip.
        for index in 10..<packed.count {
            var damaged = packed
            damaged[index] ^= 0x10
            #expect(throws: Fault.self, "\(index)") { try unpack(damaged, limit: 100_000) }
        }
        #expect(throws: Fault.self) { try unpack(Array("{}".utf8), limit: 100) }
    }
}
