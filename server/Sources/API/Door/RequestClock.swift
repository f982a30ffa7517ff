/// When a connection has taken too long. A value: `DeadlineHandler` tells it what passes by, and sets the alarm.
struct RequestClock {
    /// Something that passed by.
    enum Event {
        case opened, requestHead, requestEnd, answerHead, answerPart, answerTaken, answerEnd
    }

    /// What becomes of the alarm.
    enum Alarm: Equatable {
        case stays
        /// From now on the connection waits for this server, which is not its fault.
        case forgives
        /// Seconds from now, and seconds after which it ends already when the server is crowded; nil: it does not.
        case set(Int, crowded: Int?)
    }

    /// Seconds until the beginning of an answer.
    let deadline: Int
    /// Seconds in which a piece of an answer must have been taken.
    let piece: Int
    /// Seconds that the server may take for the next piece, or a connection have no request.
    let stall: Int
    /// Seconds without a whole request, after which a connection gives way to others.
    let patience: Int
    /// Seconds in which the rest of a request may still arrive that was answered before its end: a connection that is
    /// closed with bytes unread resets, and the answer would be lost with it.
    private let linger = 5

    private var requestsBegun = 0
    private var requestsEnded = 0
    private var answers = 0
    private var isAnswering = false

    init(deadline: Int, piece: Int, stall: Int, patience: Int) {
        self.deadline = deadline
        self.piece = piece
        self.stall = stall
        self.patience = patience
    }

    /// Whether somebody waits for an answer that has not begun.
    var owesAnswer: Bool { requestsBegun > answers && !isAnswering }
    /// Whether part of a request is still to come.
    var isReading: Bool { requestsEnded < requestsBegun }

    mutating func note(_ event: Event) -> Alarm {
        switch event {
        case .opened: return idle
        case .requestHead:
            requestsBegun += 1
            // One that was sent ahead begins when the one before it has been answered.
            return requestsBegun == answers + 1 ? .set(deadline, crowded: patience) : .stays
        case .requestEnd:
            requestsEnded += 1
            return answers == requestsBegun ? idle : .forgives
        case .answerHead, .answerPart:
            isAnswering = true
            return .set(piece, crowded: nil)
        case .answerTaken:
            isAnswering = true
            return .set(stall, crowded: nil)
        case .answerEnd:
            answers += 1
            isAnswering = false
            if answers < requestsBegun { return .set(deadline, crowded: isReading ? patience : nil) }
            return isReading ? .set(linger, crowded: nil) : idle
        }
    }

    private var idle: Alarm { .set(stall, crowded: patience) }
}
