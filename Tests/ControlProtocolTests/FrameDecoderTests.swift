import ControlProtocol
import Support
import Testing

@Suite("splitting a stream into messages")
struct FrameDecoderTests {
    private func drain(_ decoder: inout FrameDecoder) throws -> [String] {
        var frames: [String] = []
        while let frame = try decoder.next() { frames.append(String(decoding: frame, as: UTF8.self)) }
        return frames
    }

    @Test("splitting the stream anywhere yields the same messages")
    func everyCut() throws {
        let stream = Array("{\"a\":1}\0\0{\"method\":\"é\"}\0rest".utf8)
        for cut in 0...stream.count {
            var decoder = FrameDecoder(limit: 100)
            decoder.append(stream[..<cut])
            var frames = try drain(&decoder)
            decoder.append(stream[cut...])
            frames += try drain(&decoder)
            #expect(frames == ["{\"a\":1}", "", "{\"method\":\"é\"}"], "cut at \(cut)")
            #expect(decoder.isMidFrame)
        }
    }

    @Test("byte by byte, and a complete message leaves nothing behind")
    func singleBytes() throws {
        var decoder = FrameDecoder(limit: 5)
        var frames: [String] = []
        for byte in "one\0two\0three\0".utf8 {
            decoder.append(CollectionOfOne(byte))
            frames += try drain(&decoder)
        }
        #expect(frames == ["one", "two", "three"])
        #expect(!decoder.isMidFrame)
    }

    @Test(
        "the limit holds with and without an end",
        arguments: [
            (stream: "12345\0", tooLong: false), ("123456\0", true), ("123456", true), ("12345", false),
            ("1\0123456", true),
        ])
    func limit(stream: String, tooLong: Bool) {
        var decoder = FrameDecoder(limit: 5)
        decoder.append(stream.utf8)
        if tooLong {
            #expect(throws: ProtocolViolation.tooLong(limit: 5)) { try drain(&decoder) }
            #expect(throws: ProtocolViolation.tooLong(limit: 5), "and again") { try drain(&decoder) }
        } else {
            #expect(throws: Never.self) { _ = try drain(&decoder) }
        }
    }

    @Test("only AddGeofences may be large, up to its own limit")
    func largeRequests() throws {
        let fences = Array("{\"method\":\"org.beekond.Tracker.AddGeofences\",\"parameters\":".utf8)
        let fill = [UInt8](repeating: UInt8(ascii: " "), count: Limits.request)

        var decoder = FrameDecoder.requests()
        decoder.append(fences)
        for _ in 0..<10 {
            decoder.append(fill)
            #expect(try decoder.next() == nil)
        }
        decoder.append("{}}\0".utf8)
        let frame = try #require(try decoder.next())
        #expect(frame.count > 10 * Limits.request)

        decoder.append(fences + Array(repeatElement(fill, count: 64).joined()))
        #expect(throws: ProtocolViolation.tooLong(limit: Limits.largeRequest)) { try decoder.next() }

        var other = FrameDecoder.requests()
        other.append("{\"method\":\"org.beekond.Tracker.SetExtras\",\"parameters\":".utf8)
        other.append(fill)
        #expect(throws: ProtocolViolation.tooLong(limit: Limits.request)) { try other.next() }
    }

    @Test("the exception ends with its message")
    func exceptionDoesNotStick() throws {
        var decoder = FrameDecoder.requests()
        let fill = [UInt8](repeating: UInt8(ascii: " "), count: Limits.request)
        decoder.append(Array("\"org.beekond.Tracker.AddGeofences\"".utf8) + fill + [0])
        #expect(try decoder.next() != nil)
        decoder.append(fill + [32])
        #expect(throws: ProtocolViolation.self) { try decoder.next() }
    }

    @Test("small pieces of a large message take linear time")
    func linear() throws {
        var decoder = FrameDecoder(limit: 1 << 22)
        let start = threadTime()
        for _ in 0..<(1 << 18) {
            decoder.append("12345678".utf8)
            guard try decoder.next() == nil else {
                throw ProtocolViolation.malformed("a message from nowhere")
            }
        }
        // Quadratic time would take minutes; the bound is loose because this machine may be slow.
        #expect(threadTime() - start < .seconds(20))
    }
}
