import Base
import DaemonConfiguration
import Testing
import Tracking

@testable import Upload

@Suite("the stored head of a request") struct RequestHeadTests {
    private static let requests: [Request] = {
        let ownTracks = OwnTracksFormat(
            user: String(repeating: "u", count: 64), deviceID: String(repeating: "d", count: 64))
        let extras = "{" + (0..<900).map { "\"k\($0)\":\"é\"" }.joined(separator: ",") + "}"
        let osmAnd = OsmAndFormat(.init(deviceID: String(repeating: "d", count: 64)))
        return [
            BeekonFormat.request(body: [1, 2, 3]), OverlandFormat(deviceID: "d").request([]),
            ownTracks.request(FormatSamples.location(), sentAt: FormatSamples.sentAt),
            ownTracks.request(FormatSamples.event(fence: "\"😀")) ?? BeekonFormat.request(body: []),
            osmAnd.request(FormatSamples.location(), extras: extras),
            Request(format: .beekon, contentType: "application/json", body: [7]),
        ]
            + Request.Method.allCases.map {
                Request(format: .template, method: $0, contentType: "application/json", body: [7])
            } + [
                Request(
                    format: .template, method: .patch, contentType: "application/json", encoding: "gzip",
                    body: [7])
            ]
    }()

    @Test("a request is read back as it was, each format's largest too", arguments: requests)
    func roundTrip(request: Request) throws {
        let read = try #require(
            Request(format: request.format.rawValue, head: request.head, body: request.body))
        #expect(read == request)
        #expect(read.head == request.head)
        #expect(request.head?.count ?? 0 <= Request.headLimit)
    }

    @Test("and each format has one above") func formats() {
        #expect(Set(Self.requests.map(\.format)) == Set(Format.allCases))
    }

    @Test("a batch of beekon's own needs none, and only that") func none() {
        #expect(BeekonFormat.request(body: [1]).head == nil)
        #expect(Request(format: "beekon", head: nil, body: [1]) == BeekonFormat.request(body: [1]))
        for name in ["overland", "owntracks", "osmand", "template", "", "Beekon"] {
            #expect(Request(format: name, head: nil, body: []) == nil)
        }
    }

    @Test("the bytes of a head never change") func bytes() {
        let small = OwnTracksFormat(user: "u", deviceID: "d").request(
            FormatSamples.bare, sentAt: FormatSamples.sentAt)
        let expected: [[UInt8]] = [
            [1, 1], [2, 0, 16], Array("application/json".utf8), [4, 0, 13], Array("owntracks/u/d".utf8),
            [5, 0, 1, 0x75], [6, 0, 1, 0x64],
        ]
        #expect(small.head == expected.flatMap(\.self))
        #expect(
            Request(format: .osmand, query: "id=1", body: []).head == [1, 1, 1, 0, 4, 0x69, 0x64, 0x3D, 0x31])
        #expect(
            Request.Method.allCases.map { Request(format: .template, method: $0, body: []).head }
                == [[1, 1], [1, 2], [1, 3], [1, 4]])
    }

    private func field(_ tag: UInt8, _ text: String) -> [UInt8] {
        [tag, 0, UInt8(text.utf8.count)] + text.utf8
    }

    @Test("what is damaged, or of a later version, is no request")
    func damaged() {
        let query = field(1, "id=1")
        let heads: [[UInt8]] = [
            [], [1], [2, 1] + query, [0, 1] + query, [1, 0] + query, [1, 9] + query, [1, 1] + query + query,
            [1, 1] + field(2, "a") + query, [1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 9, 0x69],
            [1, 1] + query + [0], [1, 1] + field(7, "x"), [1, 1] + field(1, "a b"), [1, 1] + field(1, "a#b"),
            [1, 1] + field(1, "a\r\nHost: x"), [1, 1] + field(1, "é"),
            [1, 1] + field(2, "text/plain\r\nX: y"),
            [1, 1] + field(3, "br"), [1, 1] + field(4, "a/+/b"), [1, 1] + field(4, "a/#"),
            [1, 1] + field(4, "a\0"),
            [1, 1] + field(5, "u\n"), [1, 1, 1, 0, 1, 0xFF],
            [1, 1, 1, 0x20, 0] + [UInt8](repeating: 0x61, count: 8192),
        ]
        for head in heads {
            #expect(Request(format: "osmand", head: head, body: []) == nil, "\(head.prefix(40))")
        }
        #expect(Request(format: "osmand", head: [1, 1] + query, body: []) != nil)
    }

    @Test("no change of a byte traps, or brings a line break") func flips() throws {
        for request in Self.requests {
            guard let head = request.head else { continue }
            for index in head.indices.prefix(200) {
                for value in stride(from: UInt8(0), through: 255, by: 5) {
                    var changed = head
                    changed[index] = value
                    guard
                        let read = Request(format: request.format.rawValue, head: changed, body: request.body)
                    else { continue }
                    let texts = [read.query, read.contentType, read.encoding, read.topic].compactMap(\.self)
                    for text in texts + read.headers.map(\.value) {
                        #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
                    }
                }
            }
        }
    }
}
