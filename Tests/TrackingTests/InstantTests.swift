import Base
import Support
import Testing

@testable import Tracking

private let anyClock = ReceiverTime.SystemClock(time: Timestamp(milliseconds: 0), isKnownGood: false)

private func boot(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 1_000_000_000_000).advanced(bySeconds: seconds)
}

/// An instant that is used, in milliseconds, and the run that it belongs to.
private struct Used: Equatable {
    var time: Int64
    var run: Int
}

extension ReceiverTime {
    /// Judges a fix, and says which instants are used.
    fileprivate mutating func use(_ fix: Fix, now: Double) -> [Used] {
        guard case .settled(let latest, let before) = judge(fix, now: boot(now), systemClock: anyClock)
        else { return [] }
        return (before.map(\.fix) + [latest]).map { Used(time: $0.time.milliseconds - start, run: run) }
    }
}

/// The seconds that are used of these, told one after another in the same moment.
private func used(of seconds: [Double], isReplay: Bool = false) -> (seconds: [Double], time: ReceiverTime) {
    var receiver = ReceiverTime(isReplay: isReplay)
    let found = seconds.flatMap { receiver.use(fix(at: $0), now: 0) }
    return (found.map { Double($0.time) / 1000 }, receiver)
}

/// One a second.
private func row(_ range: Range<Int>) -> [Double] { range.map { Double($0) } }

@Test(
    "a receiver that alternates tells each instant once",
    arguments: [0.5, 1, 1.5, 2, 3], [[0.0, 1, 0], [0, 1, 0, 1], [1, 0]])
func alternation(lag: Double, pattern: [Double]) {
    let told = row(-3..<0) + (0..<60).flatMap { second in pattern.map { Double(second) + $0 * lag } }
    let (seconds, receiver) = used(of: told)
    #expect(seconds == told.reduce(into: []) { if $1 > $0.last ?? -9 { $0.append($1) } })
    #expect(receiver.isSettled && receiver.run == 0)
    #expect(receiver.repetitions == told.count - seconds.count)
}

@Test("what is told again breaks no run of settling, and is none by itself")
func repetitionsWhileSettling() {
    // As gpsd 3.25 reports a u-blox M8L: ten instants a second, and among them again the one of the full second.
    var told: [Double] = []
    for tenth in 0...40 {
        told.append(Double(tenth) / 10)
        if tenth % 10 == 5 { told.append(Double(tenth - 5) / 10) }
    }
    let (seconds, receiver) = used(of: told)
    #expect(seconds == (0...40).map { Double($0) / 10 })
    #expect(receiver.repetitions + receiver.unproved == 4)
    // After a reconnection, too.
    var again = receiver
    again.unsettle()
    let after: [Used] = [3.9, 4.1, 4, 5, 4.5, 6.2].flatMap { again.use(fix(at: $0), now: 0) }
    #expect(after.map(\.time) == [4100, 5000, 6200])
    #expect(
        again.repetitions == receiver.repetitions + 2,
        "the one after 5 is not told again, but it comes too late")
    #expect(again.unproved == receiver.unproved + 1)
}

@Test("a recording in a loop is a new run each time, however short; nothing else in it is")
func loops() {
    for length in [3, 20, 61, 200] {
        let (seconds, receiver) = used(
            of: row(0..<length) + row(0..<length) + row(0..<length), isReplay: true)
        #expect(seconds == row(0..<length) + row(0..<length) + row(0..<length))
        #expect(receiver.run == 2 && receiver.repetitions == 0 && receiver.unproved == 0)
        // Of a receiver it is a clock that was put back, if that is far enough.
        let live = used(of: row(0..<length) + row(0..<length))
        #expect(live.time.run == (length > 61 ? 1 : 0))
    }
    #expect(used(of: row(0..<20) + row(1..<30), isReplay: true).seconds == row(0..<30))
    #expect(used(of: row(0..<20) + row(0..<2) + row(20..<30), isReplay: true).seconds == row(0..<30))
    #expect(used(of: row(0..<20) + row(0..<2) + row(20..<30), isReplay: true).time.repetitions == 2)
}

@Test("as many fixes are kept as there is room for, the latest")
func room() {
    let told = (0...150).map { Double($0) / 100 } + [10]
    var receiver = ReceiverTime()
    var found = told.dropLast().flatMap { receiver.use(fix(at: $0), now: $0) }
    #expect(found.isEmpty && receiver.unproved == 151 - 64)
    found = receiver.use(fix(at: 2), now: 2)
    #expect(found.count == 64 && found.last?.time == 2000 && found.first?.time == 880)
    #expect(receiver.unproved == 152 - 64)
}

@Test("nothing but repetitions is known since the first of them")
func repeating() {
    var receiver = ReceiverTime()
    for second in row(0..<20) { _ = receiver.use(fix(at: second), now: second) }
    #expect(receiver.repeatsSince == nil)
    _ = receiver.use(fix(at: 5), now: 20)
    _ = receiver.use(fix(at: 6), now: 21)
    #expect(receiver.repeatsSince == boot(20) && receiver.isSettled)
    _ = receiver.use(fix(at: 20), now: 22)
    #expect(receiver.repeatsSince == nil)
}

// MARK: A second reading

/// The rules again, applied to all that was ever heard.
private struct InstantReference {
    private struct Heard {
        var time: Int64
        var now: Double
        var mode: Int
    }

    private(set) var used: [Used] = []
    private(set) var repeated = 0
    private var newest: Int64?
    /// What is heard since the time became doubtful; nil: it is settled.
    private var doubtful: [Heard]? = []
    private var latest: Heard?

    mutating func noFix() { if doubtful != nil { doubtful = [] } }

    mutating func unsettle() { doubtful = [] }

    mutating func beginSession() {
        newest = nil
        used = []
    }

    mutating func hear(_ time: Int64, now: Double, mode: Int) {
        let heard = Heard(time: time, now: now, mode: mode)
        if let newest, (0...60_000).contains(newest - time) {
            repeated += 1
            return
        }
        if doubtful == nil, let latest {
            let isBack = (newest ?? latest.time) - time > 60_000
            if !isBack, Double(time - latest.time) / 1000 - (now - latest.now) <= 3600 { return use([heard]) }
            doubtful = []
        }
        doubtful?.append(heard)
        let (main, beside) = lines()
        guard let proof = [main, beside].first(where: { $0.last?.time == time && proves($0) }) else { return }
        doubtful = nil
        use(proof.suffix(64))
    }

    private mutating func use(_ fixes: some Collection<Heard>) {
        for fix in fixes {
            let run = (used.last?.run ?? 0) + (newest.map { fix.time < $0 } == true ? 1 : 0)
            used.append(Used(time: fix.time, run: run))
            newest = fix.time
            latest = fix
        }
    }

    /// The fixes in a row up to the last, and those a little earlier than the newest of them.
    private func lines() -> (main: [Heard], beside: [Heard]) {
        var (main, beside): ([Heard], [Heard]) = ([], [])
        for fix in doubtful ?? [] {
            if let newest = main.last?.time, (0...60_000).contains(newest - fix.time) {
                beside = follows(fix, beside.last) ? beside + [fix] : [fix]
            } else {
                main = follows(fix, main.last) ? main + [fix] : [fix]
                beside = []
            }
        }
        return (main, beside)
    }

    private func follows(_ fix: Heard, _ before: Heard?) -> Bool {
        guard let before, fix.time > before.time else { return false }
        return abs(Double(fix.time - before.time) / 1000 - (fix.now - before.now)) <= 1.5
    }

    private func proves(_ line: [Heard]) -> Bool {
        let whole = line.reversed().prefix { $0.mode == 3 }
        func spans(_ first: Heard?) -> Bool { (line.last?.time ?? 0) - (first?.time ?? 0) >= 2000 }
        return whole.count >= 3 && spans(whole.last) || line.count >= 5 && spans(line.first)
    }
}

@Test(
    "random streams are used according to the plain rules, and instants ascend in each run",
    arguments: sampled(Array(1...40 as ClosedRange<UInt64>), 12))
func instantsAgainstReference(number: UInt64) throws {
    let seed = testSeed(31) &+ number
    var random = SeededGenerator(seed: seed)
    var receiver = ReceiverTime()
    var reference = InstantReference()
    var found: [Used] = []
    // Milliseconds by the receiver's clock, and by ours.
    var (time, now): (Int64, Int64) = (0, 0)
    let usual: Int64 = [100, 1000, 1000, 4000].randomElement(using: &random) ?? 1000
    for step in 0..<2000 {
        var seconds = usual
        switch Int.random(in: 0..<300, using: &random) {
        case 0...8: time -= .random(in: 1...3000, using: &random)
        case 9...11: time -= .random(in: 30_000...90_000, using: &random)
        case 12: time -= 3_600_000
        case 13: time += .random(in: 3_000_000...4_000_000, using: &random)
        case 14...17: time += .random(in: 500...40_000, using: &random)
        case 18, 19: (time, seconds) = (time - usual, 0)
        case 20...22: now += .random(in: 500...20_000, using: &random)
        case 23:
            receiver.unsettle()
            reference.unsettle()
        case 24...28:
            receiver.noFix()
            reference.noFix()
        case 29:
            // Without fixes that are kept: those belong to no session.
            receiver.unsettle()
            reference.unsettle()
            receiver.beginSession()
            reference.beginSession()
            found = []
        default: break
        }
        (time, now) = (time + seconds, now + seconds)
        let mode = Int.random(in: 0..<20, using: &random) == 0 ? 2 : 3
        // Now and then the epochs of another message, some behind.
        let lag: Int64 =
            Int.random(in: 0..<3, using: &random) == 0 ? .random(in: 0...3000, using: &random) : 0
        for told in lag > 0 ? [time, time - lag] : [time] {
            let moment = Double(now) / 1000
            let fix = fix(at: Double(told) / 1000, mode: mode)
            found += receiver.use(fix, now: moment)
            reference.hear(fix.time.milliseconds - start, now: moment, mode: mode)
        }
        try #require(found.map(\.time) == reference.used.map(\.time), "seed \(seed), step \(step)")
        try #require(receiver.repetitions == reference.repeated, "seed \(seed), step \(step)")
    }
    for (before, after) in zip(found, found.dropFirst()) where before.run == after.run {
        #expect(before.time < after.time, "seed \(seed)")
    }
    let first = (found.first?.run ?? 0, reference.used.first?.run ?? 0)
    #expect(zip(found, reference.used).allSatisfy { $0.run - first.0 == $1.run - first.1 }, "seed \(seed)")
}
