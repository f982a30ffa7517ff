import Base
import Testing

@testable import Tracking

private func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 0).advanced(bySeconds: seconds)
}

private func fix(_ seconds: Double, accuracy: Double?) -> Admission.Observation {
    var fix = fix(at: seconds)
    fix.accuracy = accuracy
    return Admission.Observation(
        fix: fix, motion: .moving, activity: nil, quality: nil, isParked: false, isTurningPoint: false)
}

@Suite("one-shot requests")
struct OneShotTests {
    private var shots = OneShots()

    @Test("the next fix answers everyone who accepts it, once")
    mutating func answers() {
        shots.add(OneShots.Request(id: 1, timeout: 15), now: instant(0))
        shots.add(OneShots.Request(id: 2, timeout: 15, accuracy: 5), now: instant(0))
        shots.add(OneShots.Request(id: 3, timeout: 15, accuracy: 10), now: instant(0))
        #expect(shots.offer(fix(0, accuracy: nil), now: instant(1)) == [1])
        #expect(shots.offer(fix(1, accuracy: 10), now: instant(2)) == [3])
        #expect(shots.offer(fix(2, accuracy: 5.1), now: instant(3)) == [])
        #expect(!shots.isEmpty)
        #expect(shots.offer(fix(3, accuracy: 5), now: instant(4)) == [2])
        #expect(shots.isEmpty && shots.deadline == nil)
    }

    @Test("a request that times out gets nothing; the others keep waiting")
    mutating func expiry() {
        shots.add(OneShots.Request(id: 1, timeout: 15), now: instant(0))
        shots.add(OneShots.Request(id: 2, timeout: 5), now: instant(1))
        #expect(shots.deadline == instant(6))
        #expect(shots.expire(now: instant(5.9)) == [])
        #expect(shots.expire(now: instant(6)) == [2])
        #expect(shots.deadline == instant(15))
        #expect(shots.offer(fix(0, accuracy: 5), now: instant(7)) == [1])
    }

    @Test("a request can be cancelled; when no fix can arrive, all of them are")
    mutating func ends() {
        for id in 1...3 { shots.add(OneShots.Request(id: id, timeout: 15), now: instant(0)) }
        shots.cancel(2)
        shots.cancel(99)
        #expect(shots.cancelAll() == [1, 3])
        #expect(shots.isEmpty)
    }

    @Test(
        "a fix that was heard a short while ago will do, when it is young and accurate enough",
        arguments: [
            (OneShots.Request(id: 1, timeout: 15, maxAge: 10), true),
            (OneShots.Request(id: 1, timeout: 15, maxAge: 9.9), false),
            (OneShots.Request(id: 1, timeout: 15), false),
            (OneShots.Request(id: 1, timeout: 15, maxAge: 60, accuracy: 8), true),
            (OneShots.Request(id: 1, timeout: 15, maxAge: 60, accuracy: 7), false),
        ])
    mutating func young(request: OneShots.Request, isKnown: Bool) {
        #expect(shots.cachedFix(for: request, now: instant(0)) == nil)
        _ = shots.offer(fix(0, accuracy: 8), now: instant(100))
        #expect((shots.cachedFix(for: request, now: instant(110)) != nil) == isKnown)
    }
}
