import Support
import Testing

@testable import Upload

@Suite("the drain")
struct DrainTests {
    /// What follows an answer to an envelope without rows, once it is recorded. Nothing of it is about any row.
    @Test(
        "no answer to an envelope without rows touches a row, or is a reason for suspicion",
        arguments: [
            (200, nil, Drain.Step.perform(.settle(Judgement(status: 200)))),
            (400, nil, .perform(.settle(Judgement(status: 400)))),
            (413, nil, .perform(.settle(Judgement(status: 413)))),
            (422, nil, .perform(.settle(Judgement(status: 422)))),
            (200, .page, .finish(.failed(.page))), (200, .noAck, .finish(.failed(.noAck))),
            (200, .refused, .finish(.failed(.refused))), (200, .unread, .finish(.failed(.refused))),
            (200, .phpError, .finish(.failed(.phpError))),
            (301, nil, .finish(.failed(.permanent))), (404, nil, .finish(.failed(.permanent))),
            (403, nil, .finish(.failed(.auth))),
            (429, nil, .finish(.transient(isNetwork: false, retryAfter: 7))),
            (503, nil, .finish(.transient(isNetwork: false, retryAfter: 7))),
        ] as [(Int, Doubt?, Drain.Step)])
    func envelopes(status: Int, doubt: Doubt?, expected: Drain.Step) {
        let answer = Place.answer(status, doubt, canRenew: false)
        var drain = Place(name: "", path: Place.envelope + [answer], exits: []).drain()
        let step = drain.handle(.done)
        if case .perform(.settle(let judgement)) = step {
            #expect(.perform(.settle(Judgement(status: judgement.status))) == expected)
        } else {
            #expect(step == expected)
        }
        #expect(!drain.isOwed)
    }

    @Test(
        "whatever the log is answered with, it is over, and an envelope may follow",
        arguments: [
            200, 401, 404, 413, 500,
        ])
    func log(status: Int) {
        var drain = Place(name: "", path: Place.log, exits: []).drain()
        guard case .perform(.record(let judgement)) = drain.handle(Place.answer(status)) else {
            Issue.record("it is not recorded")
            return
        }
        #expect(drain.handle(.done) == .perform(.settle(judgement)))
        #expect(drain.handle(.done) == .perform(.makeUnqueued))
        #expect(drain.handle(.made(.envelope)) == .perform(.checkToken(isForced: false)))
    }

    @Test("rows that were accepted are followed by what is not queued; a daemon that stops makes none")
    func afterRows() {
        for isStopping in [false, true] {
            var drain = Place(name: "", path: Place.accepted + [.done], exits: []).drain()
            if isStopping { drain.stop() }
            #expect(
                drain.handle(.nothingPending) == (isStopping ? .finish(.drained) : .perform(.makeUnqueued)))
        }
    }

    @Test("in every state, for every event")
    func everything() {
        for place in Self.table {
            for exit in place.exits {
                #expect(Self.events.contains(exit.0), "\(place.name): \(exit.0) is not in the list")
            }
            for event in Self.events {
                var drain = place.drain()
                let expected = place.exits.first { $0.0 == event }?.1 ?? Place.later
                #expect(drain.handle(event) == expected, "\(place.name), \(event)")
            }
        }
    }

    @Test("a drain that the user has asked for checks the token without regard to its back-off, but once")
    func forced() {
        var drain = Drain()
        _ = drain.begin(hasWork: true, isForced: true)
        _ = drain.handle(.done)
        #expect(drain.handle(Place.frozen[1]) == .perform(.checkToken(isForced: true)))
        #expect(drain.handle(.token(.due(hasToken: true))) == .perform(.refreshToken))
        #expect(drain.handle(.token(.usable)) == .perform(.checkToken(isForced: false)))
        _ = drain.handle(.token(.usable))
        #expect(drain.handle(Place.answer(401)) == .perform(.checkRefusedToken(isForced: true)))
    }

    @Test("nothing pending is nothing to do, unless a batch is owed")
    func nothing() {
        var drain = Drain()
        #expect(drain.begin(hasWork: false, isForced: false) == .finish(.drained))
        drain = Place(name: "", path: [.storageFailed], isOwed: true, exits: []).drain()
        #expect(drain.isOwed)
        #expect(
            drain.begin(hasWork: false, isForced: false) == .perform(.acknowledge(freezingNext: false)))
        #expect(drain.handle(.done) == .perform(.registerEndpoint))
        #expect(!drain.isOwed)
    }

    private typealias Interruption = @Sendable (inout Drain) -> Void

    private static let interruptions: [(name: String, make: Interruption, after: Drain.Step)] = [
        ("stop", { $0.stop() }, Place.later), ("abort", { $0.abort() }, .perform(.freezeNext)),
        ("another url", { $0.change(isEnabled: true, isOtherRequest: true) }, .perform(.freezeNext)),
        ("no url", { $0.change(isEnabled: false, isOtherRequest: true) }, .finish(.drained)),
    ]

    @Test("what comes while a request is under way breaks it off")
    func interrupted() {
        let paths = [
            Place.sending, Place.refused + [.token(.usable)], Place.sending + [.underway], Place.envelope,
            Place.log,
        ]
        for path in paths {
            for interruption in Self.interruptions {
                var drain = Place(name: "", path: path, exits: []).drain()
                interruption.make(&drain)
                #expect(drain.handle(.underway) == .perform(.cancelRequest), "\(interruption.name)")
                #expect(drain.handle(.cancelled) == interruption.after, "\(interruption.name)")
            }
            // Another interval says nothing about the request.
            var drain = Place(name: "", path: path, exits: []).drain()
            drain.change(isEnabled: true, isOtherRequest: false)
            #expect(drain.handle(.underway) == .perform(.awaitAnswer))
        }
    }

    @Test("in every state, for every event, while a request is being broken off")
    func cancelling() {
        for event in Self.events where event != .cancelled {
            var drain = Place(name: "", path: Place.sending, exits: []).drain()
            drain.abort()
            _ = drain.handle(.underway)
            #expect(drain.handle(event) == Place.later, "\(event)")
        }
    }

    @Test("an abort is over when the batch is sent again")
    func abortedOnce() {
        var drain = Place(name: "", path: Place.sending, exits: []).drain()
        drain.abort()
        for event in [.underway, .cancelled, Place.frozen[1], .token(.usable)] as [Drain.Event] {
            _ = drain.handle(event)
        }
        #expect(drain.handle(.underway) == .perform(.awaitAnswer))
    }

    @Test("a refusal that other settings may have mended is not answered with a new token")
    func changedMeanwhile() {
        var drain = Place(name: "", path: Place.sending, exits: []).drain()
        drain.change(isEnabled: true, isOtherRequest: false)
        #expect(drain.handle(Place.answer(401)) == .perform(.freezeNext))
        // They count from the next batch on.
        _ = drain.handle(Place.frozen[1])
        _ = drain.handle(.token(.usable))
        #expect(drain.handle(Place.answer(401)) == .perform(.checkRefusedToken(isForced: false)))
    }

    @Test("when the daemon stops, what was delivered is deleted, and nothing else is begun")
    func stopping() {
        var drain = Place(name: "", path: Place.sending + [Place.answer(200)], exits: []).drain()
        drain.stop()
        #expect(drain.handle(.done) == .perform(.acknowledge(freezingNext: false)))
        #expect(drain.handle(.done) == .finish(.drained))
        drain = Place(name: "", path: Place.sending, exits: []).drain()
        drain.stop()
        guard case .perform(.record) = drain.handle(Place.answer(401)) else {
            Issue.record("a token is refreshed for a daemon that stops")
            return
        }
        drain = Place(
            name: "", path: Place.frozen + [.token(.due(hasToken: true)), .token(.usable)], exits: []
        ).drain()
        drain.stop()
        #expect(drain.handle(.token(.due(hasToken: true))) == Place.later)
    }

    /// What can be said of an action that was carried out; more often than not, that all is well.
    private static func results(of action: Drain.Action) -> [Drain.Event] {
        switch action {
        case .registerEndpoint, .record, .countTimeout, .acknowledge, .markPermanent, .settle: [.done]
        case .makeUnqueued: [.nothingPending, .made(.envelope), .made(.log)]
        case .reject: [.done, .suspected, .full]
        case .isolate: [.done, .suspected]
        case .freezeNext: [Place.frozen[1], .frozen(rows: 1, isIsolating: true), .nothingPending]
        case .checkToken, .checkRefusedToken:
            tokens.map { .token($0) } + Array(repeating: .token(.usable), count: 10)
        case .refreshToken, .awaitToken:
            [.underway] + tokens.map { .token($0) } + Array(repeating: .token(.usable), count: 10)
        case .send: [.underway, .gone]
        case .awaitAnswer:
            [.underway, .failed(isForTime: true), .failed(isForTime: false)] + answers
                + Array(repeating: Place.answer(200), count: 10)
        case .cancelRequest: [.cancelled]
        case .countRefusal: [.done, .needsProbe, .needsProbe]
        case .freezeProbe: [.frozen(rows: 1, isIsolating: false), .nothingPending]
        case .deadLetterProbed: [.done, .full]
        }
    }

    @Test("whatever comes, rows are deleted only after an accepted answer, and then for certain")
    func neverLost() {
        var random = SeededGenerator(seed: 11)
        var drain = Drain()
        var step = drain.begin(hasWork: true, isForced: false)
        var (isAccepted, isUnqueued, deletions) = (false, false, 0)
        for _ in 0..<20_000 {
            switch step {
            case .finish:
                #expect(drain.isOwed == isAccepted)
                isUnqueued = false
                step = drain.begin(hasWork: Bool.random(using: &random), isForced: false)
            case .perform(let action):
                let isOdd = Int.random(in: 0..<20, using: &random) == 0
                let events = isOdd ? Self.events : Self.results(of: action)
                let event = events.randomElement(using: &random) ?? .done
                switch action {
                case .acknowledge:
                    #expect(isAccepted && drain.isOwed)
                    if event == .done { (isAccepted, deletions) = (false, deletions + 1) }
                case .record(let judgement):
                    isAccepted = judgement.verdict == .accepted && event == .done && !isUnqueued
                case .makeUnqueued:
                    if case .made = event { isUnqueued = true }
                case .freezeNext, .freezeProbe: isUnqueued = false
                case .send, .awaitAnswer, .registerEndpoint, .checkToken, .checkRefusedToken, .refreshToken,
                    .awaitToken, .cancelRequest, .countTimeout, .reject, .isolate, .markPermanent,
                    .countRefusal, .deadLetterProbed,
                    .settle:
                    #expect(!isAccepted)
                }
                if Int.random(in: 0..<50, using: &random) == 0 { drain.abort() }
                step = drain.handle(event)
            }
        }
        #expect(deletions > 100)
    }
}
