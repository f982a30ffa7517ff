import Base
import Storage
import Support
import Testing
import Tracking

@testable import Daemon

/// What is decided of a fix; the rest of the reader only carries it out.
@Suite("the pipeline of fixes")
struct FixPipelineTests {
    private var pipeline = FixPipelineTests.pipeline()
    private var fences = Geofences()
    private let session: Session
    private let known = ReceiverTime.SystemClock(time: start, isKnownGood: true)
    private let unknown = ReceiverTime.SystemClock(time: start, isKnownGood: false)

    init() {
        session = Session(id: pipeline.newID(at: start), startedAt: start)
    }

    private static func pipeline(isReplay: Bool = false) -> FixPipeline {
        var random = SeededGenerator(seed: 3)
        return FixPipeline(
            thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 10, distance: 0)),
            isReplay: isReplay, boot: BootID(high: 1, low: 1), ids: UUIDv7Generator(using: &random))
    }

    /// A fix `north` thousandths of a degree from the centre of the fence.
    private func fix(_ second: Double, north: Double = 0) throws -> Fix {
        let place = try #require(Coordinate(latitude: 52.5 + north / 1000, longitude: 13.25))
        return Fix(time: start.advanced(bySeconds: second), mode: 3, coordinate: place)
    }

    private mutating func addFence() throws {
        let fence = try Geofence(id: "yard", latitude: 52.5, longitude: 13.25, radius: 100)
        #expect(fences.add([fence]) == nil)
    }

    private mutating func decide(
        _ fix: Fix, in session: Session? = nil, events: Session? = nil
    ) -> FixPipeline.Decision {
        let context = FixPipeline.Context(session: session, eventSession: events, extras: "{}")
        return pipeline.decide(fix, in: context, fences: &fences, now: instant(0))
    }

    // MARK: Time

    @Test("a fix passes once the time has settled, and only then")
    mutating func settling() throws {
        for second in 0..<2 {
            let timing = pipeline.settle(
                try fix(Double(second)), systemClock: unknown, now: instant(Double(second)))
            #expect(timing == FixPipeline.Timing(fix: nil, fault: nil))
        }
        let third = try fix(2)
        let timing = pipeline.settle(third, systemClock: unknown, now: instant(2))
        let earlier = try (0..<2).map {
            ReceiverTime.Arrival(fix: try fix(Double($0)), now: instant(Double($0)))
        }
        #expect(timing == FixPipeline.Timing(earlier: earlier, fix: third))
        #expect(pipeline.unsettled == 0)
        pipeline.unsettle()
        #expect(pipeline.settle(try fix(3), systemClock: unknown, now: instant(3)).fix == nil)
        pipeline.unsettle()
        #expect(pipeline.unsettled == 1)
    }

    /// The seconds of the fixes that are used, when one a second comes with these.
    private mutating func used(_ seconds: [Double], from now: Double = 0) throws -> [Double] {
        try seconds.enumerated().flatMap { index, second in
            let timing = pipeline.settle(
                try fix(second), systemClock: unknown, now: instant(now + Double(index)))
            return (timing.earlier.map(\.fix) + [timing.fix].compactMap(\.self)).map {
                $0.time.seconds(since: start)
            }
        }
    }

    @Test("what is told again is counted; a new run opens the gate")
    mutating func runs() throws {
        pipeline.beginSession()
        #expect(try used([0, 1, 2, 1, 2, 3, 2]) == [0, 1, 2, 3])
        #expect(pipeline.time.repetitions == 3 && pipeline.time.run == 0)
        #expect(decide(try fix(3), in: session).location?.run == 0)
        #expect(try used([-100, -99, -98], from: 7) == [-100, -99, -98])
        let first = decide(try fix(-100), in: session).location
        #expect(first?.run == 1)
        #expect(decide(try fix(-99), in: session).location == nil)
    }

    @Test("a session goes on after its last instant; another one compares with nothing")
    mutating func sessions() throws {
        pipeline.beginSession()
        let reference = Gate.Reference(
            time: start.advanced(bySeconds: 50), coordinate: try fix(0).coordinate, bearing: nil)
        // Its fixes are kept when the store says how far the session had come.
        #expect(try used([48, 49]) == [])
        #expect(pipeline.resume(SessionTail(reference: reference, odometer: 0), waiting: 0) == 0)
        #expect(try used([50, 51, 52, 53], from: 2) == [51, 52, 53])
        #expect(pipeline.time.repetitions == 3 && pipeline.unsettled == 0)
        pipeline.beginSession()
        #expect(try used([30, 31], from: 6) == [30, 31])
        pipeline.release()
        #expect(try used([10, 11, 12], from: 8) == [10, 11, 12])
    }

    @Test("who waits for a location gets the latest fix, not one that was kept until the time had settled")
    mutating func latestAnswers() throws {
        #expect(pipeline.locate(.init(id: 7, timeout: 5), obstacle: nil, now: instant(0)) == .waiting)
        let context = FixPipeline.Context(session: session)
        let kept = pipeline.decide(
            try fix(0), in: context, fences: &fences, isLatest: false, now: instant(0))
        #expect(kept.answers.isEmpty && kept.location != nil)
        let latest = pipeline.decide(try fix(2), in: context, fences: &fences, now: instant(2))
        #expect(latest.answers.map(\.location.fix.time) == [start.advanced(bySeconds: 2)])
    }

    @Test("positions that the user deletes do not come back when the time settles")
    mutating func forgottenWhileKept() throws {
        #expect(try used([0, 1]) == [])
        pipeline.forgetLatestFix(upTo: start)
        #expect(try used([2], from: 2) == [1, 2])
        pipeline.unsettle()
        #expect(try used([3, 4], from: 3) == [])
        pipeline.forgetLatestFix(upTo: nil)
        #expect(try used([5], from: 5) == [5])
    }

    @Test(
        "times that are wrong are counted and reported, unless they are a recording's",
        arguments: [
            (seconds: 2 * 86_400.0, isReplay: false, fault: FixPipeline.TimeFault.refused(count: 1)),
            (seconds: -1024 * 7 * 86_400.0, isReplay: false, fault: .rolledOver(count: 1)),
            (seconds: -1024 * 7 * 86_400.0, isReplay: true, fault: nil),
            (seconds: 0, isReplay: false, fault: nil),
        ] as [(Double, Bool, FixPipeline.TimeFault?)])
    mutating func faults(seconds: Double, isReplay: Bool, fault: FixPipeline.TimeFault?) throws {
        pipeline = Self.pipeline(isReplay: isReplay)
        let timing = pipeline.settle(try fix(seconds), systemClock: known, now: instant(0))
        #expect(timing == FixPipeline.Timing(fix: nil, fault: fault))
    }

    // MARK: What is stored

    @Test("while nothing is tracked no fix is stored, and none counts as dropped")
    mutating func idle() throws {
        for second in 0..<3 { #expect(!decide(try fix(Double(second))).isStored) }
        #expect(pipeline.dropped == FixPipeline.Dropped())
    }

    @Test("the gate admits into the session, and counts what it drops")
    mutating func gate() throws {
        pipeline.beginSession()
        let admitted = try (0...20).compactMap { second in
            decide(try fix(Double(second), north: Double(second)), in: session).location
        }
        #expect(admitted.map { $0.location.fix.time.seconds(since: start) } == [0, 10, 20])
        #expect(admitted.allSatisfy { $0.session == session.id && $0.sessionStartedAt == start })
        #expect(admitted.allSatisfy { $0.extras == "{}" && !$0.prunesByAge })
        #expect(abs((admitted.last?.odometer ?? 0) - 20 * 111.2) < 10)
        #expect(pipeline.dropped == FixPipeline.Dropped(tooSoon: 18))
    }

    /// Where an event belongs.
    enum Home: CaseIterable { case session, eventSession, newEventSession }

    @Test(
        "an event belongs to the session, to that between two sessions, or begins one",
        arguments: Home.allCases)
    mutating func crossings(home: Home) throws {
        try addFence()
        let between = Session(id: pipeline.newID(at: start), startedAt: start)
        let tracked = home == .session ? session : nil
        let events = home == .eventSession ? between : nil
        var crossings: [NewEvents] = []
        var after: Session?
        for second in 0..<60 {
            let decision = decide(try fix(Double(second)), in: tracked, events: events)
            guard let new = decision.crossings, !new.events.isEmpty else { continue }
            crossings.append(new)
            after = decision.eventSession
            #expect((decision.location?.location.trigger == .geofence) == (home == .session))
        }
        #expect(crossings.count == 1)
        let new = try #require(crossings.first)
        #expect(new.events.map(\.crossing.kind) == [.enter] && new.changes.map(\.isInside) == [true])
        #expect(new.isTracking == (home == .session))
        #expect(new.events.allSatisfy { $0.session == new.session })
        switch home {
        case .session: #expect(new.session == session.id && after == nil)
        case .eventSession: #expect(new.session == between.id && after == between)
        case .newEventSession: #expect(new.session == after?.id && new.sessionStartedAt == after?.startedAt)
        }
    }

    @Test("by what a row says, rows are deleted for their age")
    mutating func ages() throws {
        var decision = decide(try fix(0), in: session)
        let memory = AgeTrust.Memory(latest: start)
        decision.set(TimeKeeper.Ages(prunes: true, onlyBefore: start), memory: memory)
        let new = try #require(decision.location)
        #expect(new.prunesByAge && new.agesOnlyBefore == start && new.ages == memory)
    }

    // MARK: Single locations

    @Test("who waits gets the fix as a location without a session, which is not stored")
    mutating func answers() throws {
        #expect(pipeline.locate(.init(id: 7, timeout: 5), obstacle: nil, now: instant(0)) == .waiting)
        let decision = decide(try fix(0))
        #expect(decision.answers.map(\.token) == [7] && !decision.isStored)
        let location = try #require(decision.answers.first?.location)
        let received = try fix(0)
        #expect(location.session == nil && location.trigger == .manual && location.fix == received)
        #expect(decide(try fix(1)).answers.isEmpty)
    }

    @Test("a request is answered from memory, refused, or waits until its time is over")
    mutating func requests() throws {
        _ = decide(try fix(0))
        let fresh = OneShots.Request(id: 1, timeout: 5, maxAge: 60)
        guard case .located(let location) = pipeline.locate(fresh, obstacle: "gone", now: instant(1)) else {
            Issue.record("the fix is known")
            return
        }
        #expect(location.fix.time == start)
        pipeline.forgetLatestFix(upTo: nil)
        #expect(pipeline.locate(fresh, obstacle: "gone", now: instant(1)) == .impossible("gone"))
        #expect(pipeline.locate(fresh, obstacle: nil, now: instant(1)) == .waiting)
        #expect(pipeline.expireRequests(now: instant(5.9)) == [])
        #expect(pipeline.expireRequests(now: instant(6)) == [1])
    }

    // MARK: Sessions

    @Test(
        "a session goes on with what the store knows; rows that wait get the distance before them",
        arguments: [
            (admitted: 0, waiting: 0, missed: 0.0), (admitted: 0, waiting: 3, missed: 0),
            (admitted: 2, waiting: 2, missed: 5000), (admitted: 2, waiting: 3, missed: 5000),
            (admitted: 2, waiting: 1, missed: 0), (admitted: 2, waiting: 0, missed: 0),
        ])
    mutating func resuming(admitted: Int, waiting: Int, missed: Double) throws {
        pipeline.beginSession()
        for index in 0..<admitted {
            #expect(decide(try fix(Double(index) * 10), in: session).location != nil)
        }
        let reference = Gate.Reference(
            time: start.advanced(bySeconds: 9), coordinate: try fix(0).coordinate, bearing: nil)
        let tail = SessionTail(reference: reference, odometer: 5000)
        #expect(pipeline.resume(tail, waiting: waiting) == missed)
        #expect(pipeline.admission.odometer == (admitted == 0 || missed > 0 ? 5000 : 0))
        if admitted == 0 { #expect(decide(try fix(10), in: session).location == nil) }
        pipeline.forgetPositions()
        #expect(decide(try fix(11), in: session).location != nil, "nothing to compare with")
    }
}
