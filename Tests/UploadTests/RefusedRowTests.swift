import Base
import Testing

@testable import Upload

@Suite("a row that is refused for good") struct RefusedRowTests {
    private let first = FormatSamples.uuid("0190d4e2-7b1a-7c3e-9f10-000000000001")
    private let other = FormatSamples.uuid("0190d4e2-7b1a-7c3e-9f10-000000000002")

    /// After so many scheduled refusals.
    private func refused(_ times: Int) -> RefusedRow {
        var row = RefusedRow()
        for _ in 0..<times { _ = row.refused(first, doubt: nil, isScheduled: true) }
        return row
    }

    @Test("the third scheduled run asks for a probe, and so does each run after it")
    func limit() {
        var row = RefusedRow()
        let steps = (1...5).map { _ in row.refused(first, doubt: nil, isScheduled: true) }
        #expect(steps == [.wait, .wait, .probeNext, .probeNext, .probeNext])
        #expect(row.refusals == RefusedRow.limit)
    }

    @Test("runs that someone asked for do not count, but may probe once there are three")
    func asked() {
        var row = refused(2)
        for _ in 0..<10 { #expect(row.refused(first, doubt: nil, isScheduled: false) == .wait) }
        #expect(row.refused(first, doubt: nil, isScheduled: true) == .probeNext)
        #expect(row.refused(first, doubt: nil, isScheduled: false) == .probeNext)
    }

    @Test("a page is about no row") func pages() {
        var row = refused(3)
        #expect(row.refused(first, doubt: .page, isScheduled: true) == .wait)
        #expect(row == refused(3))
        #expect(row.refused(first, doubt: .refused, isScheduled: true) == .probeNext)
    }

    @Test("another row begins anew") func others() {
        var row = refused(2)
        #expect(row.refused(other, doubt: nil, isScheduled: true) == .wait)
        #expect(row == RefusedRow(row: other, refusals: 1))
    }

    @Test(
        "only an accepted probe makes a dead letter",
        arguments: [.rejected, .unauthorised, .transient(retryAfter: 3), .permanent] as [Verdict])
    func probes(verdict: Verdict) {
        var row = refused(3)
        #expect(row.probed(verdict) == .keep)
        #expect(row == refused(3))
        #expect(row.probed(.accepted) == .deadLetter(first))
        #expect(row == RefusedRow())
        #expect(row.probed(.accepted) == .keep)
        var early = refused(2)
        #expect(early.probed(.accepted) == .keep)
    }

    @Test("it survives a restart, whatever was stored") func stored() {
        let row = refused(2)
        var read = RefusedRow(row: row.row, refusals: row.refusals)
        #expect(read == row)
        #expect(read.refused(first, doubt: nil, isScheduled: true) == .probeNext)
        #expect(RefusedRow(row: nil, refusals: 3).refusals == 0)
        #expect(RefusedRow(row: first, refusals: .max).refusals == RefusedRow.limit)
        #expect(RefusedRow(row: first, refusals: .min).refusals == 0)
    }
}
