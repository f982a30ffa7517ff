internal import CZlib

/// Unpacks what `Gzip` has packed, for people who want to look at it.
package enum Gunzip {
    /// The first bytes.
    ///
    /// - Parameter limit: how many at most.
    /// - Returns: nil when that is no gzip, or there is no memory for it.
    package static func beginning(of bytes: [UInt8], limit: Int) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_gunzip_init(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = bytes
        var result = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: max(limit, 1)) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(clamping: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(clamping: output.count)
                result = inflate(&stream, Z_SYNC_FLUSH)
                count = output.count - Int(stream.avail_out)
            }
        }
        // Z_BUF_ERROR: there was no room for more, or no more of a cut input.
        return [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(result) ? output : nil
    }
}
