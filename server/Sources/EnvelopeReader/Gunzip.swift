internal import CZlib

/// Unpacks gzip, up to a limit: a thousand bytes can unpack to a million.
package enum Gunzip {
    /// - Parameters:
    ///   - packed: exactly one gzip member; bytes behind it are a fault, as are bytes that are missing.
    ///   - limit: bytes that may come out.
    package static func unpack(_ packed: UnsafeRawBufferPointer, limit: Int) throws(Fault) -> [UInt8] {
        var stream = z_stream()
        guard czlib_gunzip_init(&stream) == Z_OK else {
            throw Fault(.tooLarge, reason: "cannot be unpacked for want of memory")
        }
        defer { inflateEnd(&stream) }
        // Text of positions packs to a fifth. One byte more than the limit tells what is too long.
        var room = min(limit + 1, max(4096, packed.count * 6))
        var output = [UInt8](repeating: 0, count: room)
        var count = 0
        stream.next_in = UnsafeMutablePointer(
            mutating: packed.bindMemory(to: UInt8.self).baseAddress)
        stream.avail_in = UInt32(clamping: packed.count)
        while true {
            let result = output.withUnsafeMutableBufferPointer { output -> Int32 in
                stream.next_out = output.baseAddress.map { $0 + count }
                stream.avail_out = UInt32(clamping: room - count)
                return inflate(&stream, Z_NO_FLUSH)
            }
            count = room - Int(stream.avail_out)
            if count > limit { throw Fault(.tooLarge, reason: "unpacks to more than \(limit) bytes") }
            switch result {
            case Z_STREAM_END:
                guard stream.avail_in == 0 else {
                    throw Fault(reason: "has bytes behind the end of its gzip data")
                }
                output.removeLast(room - count)
                return output
            case Z_OK where stream.avail_out == 0, Z_BUF_ERROR where stream.avail_out == 0:
                let more = min(limit + 1, room * 2)
                output.append(contentsOf: repeatElement(0, count: more - room))
                room = more
            case Z_OK, Z_BUF_ERROR: throw Fault(reason: "ends in the middle of its gzip data")
            default: throw Fault(reason: "is not gzip data, though its Content-Encoding says so")
            }
        }
    }
}
