import Base
import Testing

@testable import API

@Suite("how long a request may take") struct RequestClockTests {
    @Test(
        "the alarm after each event",
        arguments: [
            // A request and its answer, in pieces: while it is the server's turn, nobody has to give way; while it is the
            // client's, a piece has to be taken in its time.
            (
                [
                    .opened, .requestHead, .requestEnd, .answerHead, .answerPart, .answerTaken, .answerPart,
                    .answerEnd,
                ],
                [
                    .set(60, crowded: 5), .set(30, crowded: 5), .forgives, .set(20, crowded: nil),
                    .set(20, crowded: nil), .set(60, crowded: nil), .set(20, crowded: nil),
                    .set(60, crowded: 5),
                ]
            ),
            // Answered before its end: the rest has a moment to arrive.
            (
                [.requestHead, .answerHead, .answerEnd, .requestEnd],
                [
                    .set(30, crowded: 5), .set(20, crowded: nil), .set(5, crowded: nil),
                    .set(60, crowded: 5),
                ]
            ),
            // The next one was sent ahead: its time begins with its turn.
            (
                [
                    .requestHead, .requestEnd, .requestHead, .answerHead, .answerEnd, .requestEnd,
                    .answerHead, .answerEnd,
                ],
                [
                    .set(30, crowded: 5), .forgives, .stays, .set(20, crowded: nil), .set(30, crowded: 5),
                    .forgives, .set(20, crowded: nil), .set(60, crowded: 5),
                ]
            ),
            // Two on one connection, one after the other.
            (
                [.requestHead, .requestEnd, .answerHead, .answerEnd, .requestHead],
                [
                    .set(30, crowded: 5), .forgives, .set(20, crowded: nil), .set(60, crowded: 5),
                    .set(30, crowded: 5),
                ]
            ),
        ] as [([RequestClock.Event], [RequestClock.Alarm])])
    func alarms(events: [RequestClock.Event], expected: [RequestClock.Alarm]) {
        var clock = RequestClock(deadline: 30, piece: 20, stall: 60, patience: 5)
        #expect(events.map { clock.note($0) } == expected)
    }
}

@Suite("wrong passwords") struct GuessesTests {
    private let start = ContinuousClock.now

    @Test("ten are free, then one every six seconds, for each name") func delays() {
        let guesses = Guesses()
        for _ in 0..<10 {
            #expect(guesses.delay(of: "ada", now: start) == nil)
            guesses.noteWrong("ada", now: start)
        }
        #expect(guesses.delay(of: "ada", now: start) == 6)
        #expect(guesses.delay(of: "eve", now: start) == nil)
        let later = start.advanced(by: .seconds(6))
        #expect(guesses.delay(of: "ada", now: later) == nil)
        guesses.noteWrong("ada", now: later)
        #expect(guesses.delay(of: "ada", now: later) == 6)
        #expect(guesses.delay(of: "ada", now: later.advanced(by: .seconds(3600))) == nil)
    }

    @Test("however many names are tried, few are remembered, and the newest among them") func bounded() {
        let guesses = Guesses()
        for number in 0..<3000 {
            for _ in 0..<11 {
                guesses.noteWrong("n\(number)", now: start.advanced(by: .milliseconds(number)))
            }
        }
        #expect(guesses.delay(of: "n2999", now: start.advanced(by: .seconds(3))) != nil)
        #expect(guesses.delay(of: "n0", now: start.advanced(by: .seconds(3))) == nil)
    }
}

@Suite("a budget of bytes") struct ByteBudgetTests {
    @Test("what is taken is missing until its lease ends") func leases() {
        let budget = ByteBudget(100)
        var first = budget.take(60)
        #expect(first != nil && budget.take(41) == nil)
        #expect(budget.take(40) != nil)
        first = nil
        #expect(first == nil && budget.take(100) != nil)
    }

    @Test("a lease grows as far as there is room, and gives all of it back") func growth() {
        let budget = ByteBudget(100)
        var lease = budget.take(0)
        #expect(lease?.grow(by: 70) == true && lease?.grow(by: 31) == false && budget.hasRoom(for: 30))
        #expect(!budget.hasRoom(for: 31))
        lease = nil
        #expect(lease == nil && budget.hasRoom(for: 100))
    }
}
