/// When a connection has taken too long. A value: `DeadlineHandler` tells it what passes by, and sets the alarm.
struct RequestClock {
    /// Something that passed by.
    enum Event {
        case requestHead, requestEnd, answerHead, answerPart, answerEnd
    }

    /// What becomes of the alarm.
    enum Alarm: Equatable {
        case stays
        case off
        /// Seconds from now.
        case set(Int)
    }

    /// Seconds until the beginning of an answer.
    let deadline: Int
    /// Seconds that an answer may stand still.
    let stall: Int
    /// Seconds in which the rest of a request may still arrive that was answered before its end: a connection that is
    /// closed with bytes unread resets, and the answer would be lost with it.
    private let linger = 5

    private var requestsBegun = 0
    private var requestsEnded = 0
    private var answers = 0

    init(deadline: Int, stall: Int) {
        self.deadline = deadline
        self.stall = stall
    }

    mutating func note(_ event: Event) -> Alarm {
        switch event {
        case .requestHead:
            requestsBegun += 1
            // One that was sent ahead begins when the one before it has been answered.
            return requestsBegun == answers + 1 ? .set(deadline) : .stays
        case .requestEnd:
            requestsEnded += 1
            return answers == requestsBegun ? .off : .stays
        case .answerHead, .answerPart: return .set(stall)
        case .answerEnd:
            answers += 1
            if answers < requestsBegun { return .set(deadline) }
            return requestsEnded < requestsBegun ? .set(linger) : .off
        }
    }
}
