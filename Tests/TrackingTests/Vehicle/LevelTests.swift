import Base
import Support
import Testing

@testable import Tracking

@Suite("debounce and line")
struct LevelTests {
    /// Readings as (second, level); what is told, as (second of the edge, level).
    @Test(
        "a level counts once it has held",
        arguments: [
            ([(0, true)], [(0, true)]),
            ([(0, false), (5, true), (6.9, true)], [(0, false)]),
            ([(0, false), (5, true), (7, true)], [(0, false), (5, true)]),
            ([(0, false), (5, true), (6, true), (7, true)], [(0, false), (5, true)]),
            ([(0, false), (5, true), (6, false), (6.5, true), (8, true)], [(0, false)]),
            ([(0, false), (5, true), (6, false), (6.5, true), (8.5, true)], [(0, false), (6.5, true)]),
            // Read late: the first change held, the second is open.
            ([(0, false), (5, true), (9, false)], [(0, false), (5, true)]),
            ([(0, false), (5, true), (9, false), (11, false)], [(0, false), (5, true), (9, false)]),
            ([(0, true), (5, true), (9, true)], [(0, true)]),
        ] as [([(Double, Bool)], [(Double, Bool)])])
    func debounce(readings: [(Double, Bool)], told: [(Double, Bool)]) {
        var debounce = LevelDebounce(seconds: 2)
        let edges = readings.compactMap { debounce.take($0.1, now: booted($0.0)) }
        #expect(edges == told.map { edge($0.1, $0.0) })
        #expect(debounce.level == told.last?.1)
    }

    @Test("a thousand edges with bounce: each real one is told once, at its beginning, and none else")
    func bounce() {
        var random = SeededGenerator(seed: testSeed(41))
        var debounce = LevelDebounce(seconds: 2)
        _ = debounce.take(false, now: booted(0))
        var (now, level) = (10.0, false)
        for _ in 0..<1000 {
            level.toggle()
            var settled = now
            for number in 0..<Int.random(in: 1...9, using: &random) {
                settled = now
                #expect(debounce.take(number % 2 == 0 ? level : !level, now: booted(now)) == nil)
                now += Double.random(in: 0.001...0.2, using: &random)
            }
            #expect(debounce.take(level, now: booted(now)) == nil)
            let due = debounce.deadline
            #expect(due.map { $0 <= booted(now + 2) } == true)
            #expect(due.map { $0 >= booted(settled + 2) } == true)
            let told = due.flatMap { debounce.expire(now: $0) }
            #expect(told?.isOn == level)
            #expect(debounce.deadline == nil)
            now += Double.random(in: 2.5...60, using: &random)
        }
    }

    @Test("no time takes each level at once, and a lost one is read anew")
    func immediate() {
        var debounce = LevelDebounce(seconds: 0)
        #expect(debounce.take(true, now: booted(0)) == edge(true, 0))
        #expect(debounce.take(false, now: booted(0)) == edge(false, 0))
        debounce.lose()
        #expect(debounce.level == nil)
        #expect(debounce.take(false, now: booted(1)) == edge(false, 1))
    }

    @Test("a gap in the numbers, or an edge that cannot be, has the level read again")
    func line() {
        var line = GPIOLine()
        #expect(line.edge(isRising: true, sequence: 1) == .readAgain)
        line.reset(to: true)
        #expect(line.edge(isRising: false, sequence: 2) == .level(false))
        #expect(line.edge(isRising: true, sequence: 3) == .level(true))
        #expect(line.edge(isRising: false, sequence: 6) == .readAgain)
        line.reset(to: true)
        #expect(line.edge(isRising: true, sequence: 7) == .readAgain)
        line.reset(to: true)
        #expect(line.edge(isRising: false, sequence: 8) == .level(false))
        #expect(line.edge(isRising: true, sequence: .max) == .readAgain)
        line.reset(to: true)
        #expect(line.edge(isRising: false, sequence: 0) == .level(false))
    }

    @Test("the kernel drops what the reader does not take: whatever is lost, the level at the end is right")
    func overflow() {
        var random = SeededGenerator(seed: testSeed(43))
        for _ in 0..<300 {
            var (line, level) = (GPIOLine(), false)
            line.reset(to: level)
            var events: [(Bool, UInt32)] = []
            for number in 1...Int.random(in: 1...60, using: &random) {
                level.toggle()
                events.append((level, UInt32(number)))
            }
            let room = Int.random(in: 1...60, using: &random)
            for (isRising, sequence) in events.suffix(room) {
                switch line.edge(isRising: isRising, sequence: sequence) {
                case .level(let read): #expect(read == isRising)
                case .readAgain: line.reset(to: level)
                }
            }
            #expect(line.level == level)
        }
    }
}
