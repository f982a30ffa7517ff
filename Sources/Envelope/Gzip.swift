internal import CZlib

/// gzip, with one stream for all bodies. The same input always gives the same bytes: the header has no time and no name.
public struct Gzip: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// How zlib searches, in its own terms, measured with the drives of the benchmark: as small as level 7 (1 to 2 % behind
    /// level 9) in less time than level 6, which is 6 to 9 % larger. Locations resemble the ones just before them: wherever
    /// there is a match, a longer one may begin at the next byte, and it is near.
    private static let search: (good: Int32, lazy: Int32, nice: Int32, chain: Int32) = (4, 258, 128, 24)

    /// - Returns: nil when there is no memory for it.
    public init?() {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_gzip_init(stream, 6) == Z_OK else {
            stream.deallocate()
            return nil
        }
        self.stream = stream
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// - Returns: nil only when zlib breaks its own promise about the room it needs.
    public func compress(_ bytes: [UInt8]) -> [UInt8]? {
        let search = Self.search
        // A reset restores the search of the level.
        guard deflateReset(stream) == Z_OK,
            deflateTune(stream, search.good, search.lazy, search.nice, search.chain) == Z_OK
        else { return nil }
        let room = Int(deflateBound(stream, UInt(bytes.count)))
        var input = bytes
        var result = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: room) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(clamping: input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(clamping: output.count)
                result = deflate(stream, Z_FINISH)
                count = output.count - Int(stream.pointee.avail_out)
            }
        }
        return result == Z_STREAM_END ? output : nil
    }
}
