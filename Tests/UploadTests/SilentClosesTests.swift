import Testing

@testable import Upload

@Suite("connections that are closed without an answer") struct SilentClosesTests {
    @Test("ten in a row are a refusal, and so are those after them")
    func limit() {
        var closes = SilentCloses()
        let verdicts = (1...12).map { _ in closes.observe(.closed) }
        #expect(verdicts == (1...12).map { $0 >= 10 })
        #expect(closes.count == 10)
    }

    @Test("an answer begins anew; what was not sent says nothing")
    func others() {
        var closes = SilentCloses(count: 9)
        #expect(closes.observe(.neither) == false)
        #expect(closes.observe(.closed) == true)
        #expect(closes.observe(.neither) == false)
        #expect(closes.observe(.closed) == true)
        #expect(closes.observe(.answered) == false)
        #expect(closes.count == 0)
        #expect(closes.observe(.closed) == false)
        #expect(closes.count == 1)
    }

    @Test("what was stored is kept within bounds") func stored() {
        #expect(SilentCloses(count: .max).count == SilentCloses.limit)
        #expect(SilentCloses(count: .min).count == 0)
    }

    @Test("only a loss after sending, that was no time-out, is one")
    func endings() {
        func ending(_ kind: TransportFailure.Kind, sent: Bool, timeout: Bool) -> SilentCloses.Ending {
            .init(.failure(TransportFailure(kind: kind, message: "x", wasSent: sent, isTimeout: timeout)))
        }
        #expect(ending(.network, sent: true, timeout: false) == .closed)
        #expect(ending(.network, sent: false, timeout: false) == .neither)
        #expect(ending(.network, sent: true, timeout: true) == .neither)
        #expect(ending(.clock, sent: true, timeout: false) == .neither)
        #expect(SilentCloses.Ending(.cancelled) == .neither)
        #expect(SilentCloses.Ending(.answer(.http(answer(500)))) == .answered)
    }
}
