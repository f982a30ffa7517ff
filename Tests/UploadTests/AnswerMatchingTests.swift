import Base
import DaemonConfiguration
import Support
import Testing

@testable import Upload

@Suite("an answer belongs to the request that was sent last")
struct AnswerMatchingTests {
    private static func id(_ number: UInt8) -> UUIDv7 {
        UUIDv7(bytes: [UInt8](repeating: number, count: 16)) ?? UUIDv7Generator.first
    }

    private static func answer(_ body: String, status: Int = 200, isEarly: Bool = false) -> Answer {
        Answer(
            status: status, AnswerHead(), AnswerBody(), isCut: false, isEarly: isEarly, text: Array(body.utf8)
        )
    }

    private static func naming(_ number: UInt8, status: Int = 200) -> Answer {
        answer("{\"batch_id\":\"\(id(number).description.uppercased())\"}", status: status)
    }

    /// One destination.
    private final class Bench {
        private var matching = AnswerMatching()

        func believes(
            _ answer: Answer, to number: UInt8, _ format: Format, _ content: ShipmentKind = .rows,
            over connection: Int = 1
        ) -> Bool {
            matching.fault(answer, to: id(number), in: format, content, over: connection) == nil
        }
    }

    @Test(
        "the format beekon believes no 2xx that names another batch",
        arguments: [.rows, .envelope] as [ShipmentKind])
    func another(content: ShipmentKind) {
        let bench = Bench()
        #expect(bench.believes(Self.naming(1), to: 1, .beekon, content))
        #expect(!bench.believes(Self.naming(1), to: 2, .beekon, content))
        #expect(!bench.believes(Self.naming(9), to: 3, .beekon, content))
    }

    @Test(
        "nor a refusal that names another batch; what names none may be about this one",
        arguments: [400, 422])
    func refusals(status: Int) {
        let bench = Bench()
        let other = Self.answer("{\"batch_id\":\"\(Self.id(1))\"}", status: status)
        #expect(bench.believes(Self.naming(1), to: 1, .beekon))
        #expect(!bench.believes(other, to: 2, .beekon))
        #expect(bench.believes(Self.answer("", status: status), to: 3, .beekon))
        #expect(bench.believes(Self.naming(1), to: 1, .overland, over: 2))
        #expect(!bench.believes(other, to: 2, .overland, over: 2))
        #expect(bench.believes(Self.answer("{\"batch_id\":\"\(Self.id(1))\"}", status: 503), to: 3, .beekon))
    }

    @Test(
        "other formats believe none that names a batch sent before on this connection",
        arguments: Format.allCases.filter { $0 != .beekon })
    func earlier(format: Format) {
        let bench = Bench()
        #expect(bench.believes(Self.naming(9), to: 1, format), "an id of the server's own")
        #expect(bench.believes(Self.naming(9), to: 2, format))
        #expect(!bench.believes(Self.naming(1), to: 3, format))
        #expect(bench.believes(Self.naming(1), to: 4, format, over: 2), "another connection")
    }

    @Test("who has named a batch goes on naming them", arguments: Format.allCases)
    func nameless(format: Format) {
        for body in [
            "", "ok", "{}", "{\"batch_id\":7}", "{\"batch_id\":\"7\"}", "[\"batch_id\"]", "{\"batch_id\":",
        ] {
            let bench = Bench()
            let nameless = Self.answer(body)
            #expect(bench.believes(nameless, to: 1, format))
            #expect(bench.believes(Self.naming(2), to: 2, format, .envelope))
            #expect(bench.believes(nameless, to: 3, format), "only an envelope was named")
            #expect(bench.believes(Self.naming(4), to: 4, format))
            #expect(!bench.believes(nameless, to: 5, format))
            #expect(bench.believes(nameless, to: 6, format, .envelope), "it has no rows")
            #expect(bench.believes(nameless, to: 7, format, .log))
            #expect(bench.believes(Self.answer(body, status: 503), to: 8, format))
            #expect(bench.believes(nameless, to: 9, format, over: 2), "another connection")
        }
    }

    @Test(
        "who names a batch in a refusal has not promised to name those that it takes", arguments: [400, 422])
    func namingRefusals(status: Int) {
        for format in Format.allCases {
            let bench = Bench()
            #expect(bench.believes(Self.naming(1, status: status), to: 1, format))
            #expect(bench.believes(Self.answer("OK"), to: 2, format))
            #expect(bench.believes(Self.naming(3), to: 3, format))
            #expect(!bench.believes(Self.answer("OK"), to: 4, format), "an acceptance has")
        }
    }

    @Test(
        "a refusal with an id of the server's own is taken at its word the third time", arguments: [400, 422])
    func strangeRefusals(status: Int) {
        let bench = Bench()
        func isBelieved(_ answer: Answer, to number: UInt8 = 1, over connection: Int) -> Bool {
            bench.believes(answer, to: number, .beekon, over: connection)
        }
        let strange = Self.naming(9, status: status)
        #expect((1...3).map { isBelieved(strange, over: $0) } == [false, false, true], "the third in a row")
        #expect((4...5).map { isBelieved(strange, over: $0) } == [false, false])
        #expect(isBelieved(Self.answer("", status: 503), over: 6))
        #expect((7...9).map { isBelieved(strange, over: $0) } == [false, false, true], "from the beginning")
        #expect((10...11).map { isBelieved(strange, over: $0) } == [false, false])
        #expect(
            (12...14).map { isBelieved(strange, to: 2, over: $0) } == [false, false, true], "another batch")
        let early = Self.answer("", status: status, isEarly: true)
        #expect([early, strange, early].map { isBelieved($0, over: 15) } == [false, false, true], "either")
        for connection in 16..<20 { #expect(!isBelieved(Self.naming(9), over: connection), "no acceptance") }
    }

    @Test("what has been refused too early of one batch says nothing of another")
    func earlyOfAnother() {
        let bench = Bench()
        let early = Self.answer("", status: 400, isEarly: true)
        func believes(_ content: ShipmentKind, _ ids: [UInt8]) -> [Bool] {
            ids.map { bench.believes(early, to: $0, .beekon, content) }
        }
        #expect(believes(.rows, [1, 1, 2, 2, 2]) == [false, false, false, false, true])
        // Made afresh for each attempt.
        #expect(believes(.envelope, [3, 4, 5]) == [false, false, true])
        #expect(believes(.log, [6, 7]) == [false, false])
        #expect(believes(.envelope, [8, 9, 10]) == [false, false, true])
    }

    @Test("what comes before the request has arrived is no answer to it")
    func early() {
        let bench = Bench()
        func isBelieved(_ status: Int, _ isEarly: Bool = true) -> Bool {
            bench.believes(Self.answer("", status: status, isEarly: isEarly), to: 1, .osmand, .log)
        }
        for status in [200, 201, 204, 299] { #expect(!isBelieved(status)) }
        for status in [301, 401, 403, 404, 408, 413, 429, 500, 503] { #expect(isBelieved(status)) }
        #expect(
            [isBelieved(400), isBelieved(422), isBelieved(400)] == [false, false, true], "the third in a row")
        #expect([isBelieved(400), isBelieved(503), isBelieved(400)] == [false, true, false])
        #expect(
            [isBelieved(200, false), isBelieved(400), isBelieved(400), isBelieved(400)] == [
                true, false, false, true,
            ])
        for _ in 0..<5 { #expect(!isBelieved(200)) }
    }

    @Test("as many batches as a long drain has are remembered within bounds")
    func bounds() {
        var (matching, random) = (AnswerMatching(), SeededGenerator(seed: 5))
        var ids = UUIDv7Generator(using: &random)
        var latest: [UUIDv7] = []
        for number in 0..<5000 {
            let id = ids.next(at: Timestamp(milliseconds: Int64(number)))
            #expect(matching.fault(Self.answer(""), to: id, in: .osmand, .rows, over: 1) == nil)
            latest = latest.suffix(511) + [id]
        }
        for id in latest.dropLast() {
            let answer = Self.answer("{\"batch_id\":\"\(id)\"}")
            #expect(matching.fault(answer, to: latest[511], in: .osmand, .rows, over: 1) != nil)
        }
    }
}

extension UUIDv7Generator {
    fileprivate static var first: UUIDv7 {
        var random = SeededGenerator(seed: 1)
        var generator = UUIDv7Generator(using: &random)
        return generator.next(at: Timestamp(milliseconds: 0))
    }
}
