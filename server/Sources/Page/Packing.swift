internal import CZlib

/// Packs with gzip what is served again and again.
enum Packing {
    /// - Returns: nil when there is no memory for it.
    static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_gzip_init(&stream, 9) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var result = Z_OK
        let room = Int(deflateBound(&stream, UInt(bytes.count)))
        let output = [UInt8](unsafeUninitializedCapacity: room) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(clamping: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(clamping: output.count)
                result = deflate(&stream, Z_FINISH)
                count = output.count - Int(stream.avail_out)
            }
        }
        return result == Z_STREAM_END ? output : nil
    }
}
