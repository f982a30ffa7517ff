import Testing

@testable import API

@Suite("how long a request may take") struct RequestClockTests {
    @Test(
        "the alarm after each event",
        arguments: [
            // A request and its answer.
            (
                [.requestHead, .requestEnd, .answerHead, .answerPart, .answerEnd],
                [.set(30), .stays, .set(60), .set(60), .off]
            ),
            // Answered before its end: the rest has a moment to arrive.
            ([.requestHead, .answerHead, .answerEnd, .requestEnd], [.set(30), .set(60), .set(5), .off]),
            // The next one was sent ahead: its time begins with its turn.
            (
                [
                    .requestHead, .requestEnd, .requestHead, .answerHead, .answerEnd, .requestEnd,
                    .answerHead, .answerEnd,
                ],
                [.set(30), .stays, .stays, .set(60), .set(30), .stays, .set(60), .off]
            ),
            // Two on one connection, one after the other.
            (
                [.requestHead, .requestEnd, .answerHead, .answerEnd, .requestHead],
                [.set(30), .stays, .set(60), .off, .set(30)]
            ),
        ] as [([RequestClock.Event], [RequestClock.Alarm])])
    func alarms(events: [RequestClock.Event], expected: [RequestClock.Alarm]) {
        var clock = RequestClock(deadline: 30, stall: 60)
        #expect(events.map { clock.note($0) } == expected)
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
}
