import Base
import SQLite
import Storage
import Testing
import Tracking

@testable import Daemon

@Suite("long work in steps")
struct StepwiseWorkTests {
    private let workshop: Workshop
    private let recorder: Recorder
    private let work: StepwiseWork

    init() throws {
        workshop = try Workshop()
        recorder = Recorder(store: workshop.hub.store)
        work = StepwiseWork(hub: workshop.hub, recorder: recorder, outbox: Outbox(hub: workshop.hub))
    }

    private var store: Store { workshop.hub.store }

    private func store(_ seconds: Range<Int>) throws {
        for second in seconds { _ = try store.insert(try workshop.location(Double(second))) }
    }

    /// Until nothing is left to do.
    private func results() -> [Int] {
        var results: [Int] = []
        for second in 0..<1000 where work.hasSteps || work.isDeleting {
            for answer in work.run(now: instant(Double(second))) {
                switch answer.result {
                case .success(.removal(let count, _)), .success(.count(let count)): results.append(count)
                case .success, .failure: results.append(-1)
                }
            }
        }
        #expect(!work.hasSteps)
        return results
    }

    @Test("nothing to do is no step")
    func nothing() {
        #expect(!work.hasSteps && work.retryAt == nil && work.run(now: instant(0)).isEmpty)
        #expect(!work.mustShrink(to: 0))
    }

    @Test("a deletion covers what is stored and what waits, in steps, and answers when it is complete")
    func deletion() throws {
        try store(0..<2500)
        try workshop.breakStorage()
        for second in 2500..<2503 { recorder.add(try workshop.location(Double(second))) }
        _ = recorder.flush(now: instant(0), stopwatch())
        try workshop.mendStorage()
        let cutoff = start.advanced(bySeconds: 2501)
        #expect(try work.delete(before: cutoff, for: 1) == cutoff)
        #expect(recorder.waiting == 1)
        #expect(work.isDoomed(cutoff) && !work.isDoomed(cutoff.advanced(bySeconds: 1)))
        #expect(throws: CommandFailure.self) { try work.refuseWhileDeleting() }
        #expect(work.run(now: instant(0)).isEmpty && store.counts().locations == 1500)
        #expect(results() == [2502])
        try work.refuseWhileDeleting()
        #expect(try workshop.stored().isEmpty)
    }

    @Test("what was interrupted is taken up, and nobody waits for it")
    func interrupted() throws {
        try store(0..<3)
        _ = try work.delete(before: nil, for: 1)
        let again = StepwiseWork(hub: workshop.hub, recorder: recorder, outbox: Outbox(hub: workshop.hub))
        try again.resumeDeletion()
        #expect(again.isDeleting && again.isDoomed(start.advanced(bySeconds: 1e9)))
        for second in 0..<1000 where again.isDeleting {
            #expect(again.run(now: instant(Double(second))).isEmpty)
        }
        #expect(try workshop.stored().isEmpty)
    }

    @Test("a tail comes back without what is being deleted", arguments: [nil, 5.0, 15] as [Double?])
    func tail(cutoff: Double?) throws {
        let place = try workshop.location(10).location.fix.coordinate
        let reference = Gate.Reference(
            time: start.advanced(bySeconds: 10), coordinate: place, bearing: nil)
        let tail = SessionTail(
            reference: reference, odometer: 77, memory: Admission.Memory(motion: .stationary, spot: place))
        #expect(work.remainder(of: tail) == tail)
        _ = try work.delete(before: cutoff.map { start.advanced(bySeconds: $0) }, for: 1)
        let isKept = cutoff.map { $0 < 10 } ?? false
        #expect(work.remainder(of: tail) == (isKept ? tail : SessionTail(reference: nil, odometer: 77)))
        _ = results()
    }

    @Test("rows return to the queue one request at a time, and not before a deletion has been completed")
    func resend() throws {
        let all = OwedWork.resend(Resend(from: start, to: nil))
        #expect(throws: CommandFailure.self) { try work.begin(all, for: 1, isDeletionKnown: false) }
        try work.begin(all, for: 1, isDeletionKnown: true)
        #expect(work.hasSteps)
        #expect(throws: CommandFailure.self) { try work.begin(all, for: 2, isDeletionKnown: true) }
        #expect(results() == [0])
        try store(0..<3)
        _ = try work.delete(before: start.advanced(bySeconds: 1), for: 3)
        #expect(throws: CommandFailure.self) { try work.begin(all, for: 4, isDeletionKnown: true) }
        #expect(throws: CommandFailure.self) {
            try work.begin(.requeue, of: .main, for: 5, isDeletionKnown: true)
        }
        // What is deleted anyway need not wait.
        try work.begin(.purge, of: .main, for: 6, isDeletionKnown: false)
        #expect(throws: CommandFailure.self) {
            try work.begin(.purge, of: .main, for: 7, isDeletionKnown: true)
        }
        #expect(results().sorted() == [0, 2])
    }

    @Test("a deletion that fails is answered once, and tried again; a purge goes on meanwhile")
    func retry() throws {
        try store(0..<3)
        _ = try work.delete(before: nil, for: 1)
        try workshop.breakStorage()
        var failed = false
        for answer in work.run(now: instant(0)) {
            if case .failure = answer.result { failed = answer.token == 1 }
        }
        #expect(failed)
        let first = try #require(work.retryAt)
        #expect(first > instant(0) && first <= instant(300) && !work.hasSteps)
        #expect(work.run(now: instant(0)).isEmpty, "not before its time")
        #expect(work.run(now: first).isEmpty, "the client knows")
        #expect(try #require(work.retryAt) > first)
        try workshop.mendStorage()
        try work.begin(.purge, of: .main, for: 2, isDeletionKnown: true)
        #expect(work.hasSteps)
        #expect(results() == [0])
        #expect(try workshop.stored().isEmpty)
        #expect(try store.unfinishedDeletion() == nil)
    }

    @Test("rows beyond a lowered cap go, once it may have been lowered")
    func shrink() throws {
        try store(0..<30)
        store.configure(StoreOptions(maxRows: 10, durability: .normal, destinations: .main))
        for second in 0..<100 where work.mustShrink(to: 10) {
            work.shrink(to: 10, now: instant(Double(second)))
        }
        #expect(store.counts().locations == 10)
        #expect(!work.mustShrink(to: 9), "there was nothing left to do")
        work.noteChangedCap()
        #expect(work.mustShrink(to: 9))
    }
}
