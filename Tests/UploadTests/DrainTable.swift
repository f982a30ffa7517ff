@testable import Upload

extension DrainTests {
    static let lostNetwork = Drain.Step.finish(.transient(isNetwork: true, retryAfter: nil))
    static let answers = [
        Place.answer(200), Place.answer(200, .page), Place.answer(200, .noAck), Place.answer(301),
        Place.answer(400), Place.answer(401), Place.answer(403, canRenew: false), Place.answer(408),
        Place.answer(413), Place.answer(422), Place.answer(500),
    ]
    static let tokens: [Drain.TokenCheck] = [
        .usable, .due(hasToken: true), .due(hasToken: false), .resting(seconds: 9, isNetwork: false),
        .resting(seconds: 9, isNetwork: true), .unsaved, .dead,
    ]
    static let events: [Drain.Event] =
        [
            .done, .frozen(rows: 4, isIsolating: false), .frozen(rows: 1, isIsolating: true), .nothingPending,
            .underway, .gone, .cancelled, .failed(isForTime: true), .failed(isForTime: false), .suspected,
            .full, .closed, .unmatched, .needsProbe, .made(.log), .made(.envelope),
            .storageFailed,
        ] + tokens.map { .token($0) } + answers

    /// What follows where a token was not to be had.
    static let withoutToken: [(Drain.Event, Drain.Step)] = [
        (
            .token(.resting(seconds: 9, isNetwork: false)),
            .finish(.transient(isNetwork: false, retryAfter: 9))
        ),
        (.token(.resting(seconds: 9, isNetwork: true)), lostNetwork),
        (.token(.dead), .finish(.failed(.auth))),
    ]

    static func recorded(_ event: Drain.Event) -> (Drain.Event, Drain.Step) {
        guard case .answered(let judgement, _) = event else { return (event, Place.later) }
        return (event, .perform(.record(judgement)))
    }

    static let request: [(Drain.Event, Drain.Step)] = [
        (.underway, .perform(.awaitAnswer)), (.gone, .perform(.freezeNext)),
        (.cancelled, .perform(.freezeNext)), (.failed(isForTime: true), .perform(.countTimeout)),
        (.failed(isForTime: false), lostNetwork), (.closed, .perform(.markPermanent)),
        (.unmatched, .perform(.send)),
    ]

    /// What becomes of a request without rows, but for its answer.
    static let unqueued: [(Drain.Event, Drain.Step)] = [
        (.underway, .perform(.awaitAnswer)), (.gone, .perform(.freezeNext)),
        (.cancelled, .perform(.freezeNext)), (.failed(isForTime: true), lostNetwork),
        (.failed(isForTime: false), lostNetwork), (.closed, lostNetwork),
        (.unmatched, .perform(.makeUnqueued)),
    ]

    static let table: [Place] = [
        Place(
            name: "registering", path: [], exits: [(.done, .perform(.freezeNext))]),
        Place(
            name: "freezing", path: [.done],
            exits: [
                (.frozen(rows: 4, isIsolating: false), .perform(.checkToken(isForced: false))),
                (.frozen(rows: 1, isIsolating: true), .perform(.checkToken(isForced: false))),
                (.nothingPending, .perform(.makeUnqueued)),
            ]),
        Place(
            name: "checking the token", path: Place.frozen,
            exits: [
                (.token(.usable), .perform(.send)), (.token(.due(hasToken: true)), .perform(.refreshToken)),
                (.token(.due(hasToken: false)), .perform(.refreshToken)),
            ] + withoutToken),
        Place(
            name: "refreshing", path: Place.frozen + [.token(.due(hasToken: true))],
            exits: [(.underway, .perform(.awaitToken))]
                + tokens.map { (.token($0), .perform(.checkToken(isForced: false))) }),
        Place(
            name: "checking again", path: Place.frozen + [.token(.due(hasToken: true)), .token(.dead)],
            exits: [
                (.token(.usable), .perform(.send)), (.token(.due(hasToken: true)), .perform(.send)),
            ] + withoutToken),
        Place(
            name: "sending", path: Place.sending,
            exits: request
                + answers.map {
                    $0 == Place.answer(401)
                        ? ($0, .perform(.checkRefusedToken(isForced: false))) : recorded($0)
                }),
        Place(
            name: "sending again", path: Place.refused + [.token(.usable)],
            exits: request + answers.map { recorded($0) }),
        Place(
            name: "checking a refused token", path: Place.refused,
            exits: [
                (.token(.usable), .perform(.send)), (.token(.due(hasToken: true)), .perform(.refreshToken)),
                (.token(.due(hasToken: false)), .perform(.refreshToken)),
            ] + withoutToken),
        Place(
            name: "refreshing a refused token", path: Place.refused + [.token(.due(hasToken: true))],
            exits: [(.underway, .perform(.awaitToken)), (.token(.usable), .perform(.send))] + withoutToken),
        Place(
            name: "recording 200", path: Place.sending + [Place.answer(200)],
            exits: [(.done, .perform(.acknowledge(freezingNext: true)))]),
        Place(
            name: "recording 400", path: Place.sending + [Place.answer(400)],
            exits: [(.done, .perform(.reject(status: 400)))]),
        Place(
            name: "recording 422 of a batch that is to be isolated",
            path: Place.isolating + [.token(.usable), Place.answer(422)], exits: [(.done, .perform(.isolate))]
        ),
        Place(
            name: "recording 422 of a single row",
            path: [.done, .frozen(rows: 1, isIsolating: true), .token(.usable), Place.answer(422)],
            exits: [(.done, .perform(.reject(status: 422)))]),
        Place(
            name: "recording 403 without credentials",
            path: Place.sending + [Place.answer(403, canRenew: false)],
            exits: [(.done, .finish(.failed(.auth)))]),
        Place(
            name: "recording 500", path: Place.sending + [Place.answer(500)],
            exits: [(.done, .finish(.transient(isNetwork: false, retryAfter: 7)))]),
        Place(
            name: "recording 301", path: Place.sending + [Place.answer(301)],
            exits: [(.done, .perform(.markPermanent))]),
        Place(
            name: "recording a page", path: Place.sending + [Place.answer(200, .page)],
            exits: [(.done, .perform(.markPermanent))]),
        Place(
            name: "recording 413, which a smaller batch may mend", path: Place.sending + [Place.answer(413)],
            exits: [(.done, .perform(.countRefusal(nil, isScheduled: true)))]),
        Place(
            name: "recording a 2xx without its acknowledgement",
            path: Place.sending + [Place.answer(200, .noAck)],
            exits: [(.done, .perform(.countRefusal(.noAck, isScheduled: true)))]),
        Place(
            name: "recording a 2xx that refuses", path: Place.sending + [Place.answer(200, .refused)],
            exits: [(.done, .perform(.markPermanent))]),
        Place(
            name: "recording a 2xx that cannot be read, behind which the batch may be stored",
            path: Place.sending + [Place.answer(200, .unread)],
            exits: [(.done, .perform(.countRefusal(.unread, isScheduled: true)))]),
        Place(
            name: "recording an error of PHP, behind which the batch may be stored",
            path: Place.sending + [Place.answer(200, .phpError)],
            exits: [(.done, .perform(.countRefusal(.phpError, isScheduled: true)))]),
        Place(
            name: "counting a timeout", path: Place.sending + [.failed(isForTime: true)],
            exits: [(.done, lostNetwork)]),
        Place(name: "acknowledging", path: Place.accepted, exits: [(.done, .perform(.freezeNext))]),
        Place(
            name: "acknowledging what is owed", path: [], isOwed: true,
            exits: [(.done, .perform(.registerEndpoint))]),
        Place(
            name: "rejecting", path: Place.sending + [Place.answer(400), .done],
            exits: [
                (.done, .perform(.freezeNext)), (.suspected, .finish(.failed(.rejected))),
                (.full, .finish(.failed(.deadLettersFull))),
            ]),
        Place(
            name: "isolating", path: Place.isolating + [.token(.usable), Place.answer(400), .done],
            exits: [(.done, .perform(.freezeNext)), (.suspected, .finish(.failed(.rejected)))]),
        Place(
            name: "marking", path: Place.sending + [Place.answer(200, .page), .done],
            exits: [(.done, .perform(.countRefusal(.page, isScheduled: true)))]),
        Place(
            name: "marking what the connection was closed on", path: Place.sending + [.closed],
            exits: [(.done, .perform(.countRefusal(nil, isScheduled: true)))]),
        Place(
            name: "counting a refusal", path: Place.sending + [Place.answer(200, .refused), .done, .done],
            exits: [(.done, .finish(.failed(.refused))), (.needsProbe, .perform(.freezeProbe))]),
        Place(
            name: "freezing a probe", path: Place.beforeProbe,
            exits: [
                (.frozen(rows: 4, isIsolating: false), .perform(.checkToken(isForced: false))),
                (.frozen(rows: 1, isIsolating: true), .perform(.checkToken(isForced: false))),
                (.nothingPending, .finish(.failed(.permanent))),
            ]),
        Place(
            name: "making the probed row a dead letter",
            path: Place.probing + [Place.answer(200), .done, .done],
            exits: [(.done, .perform(.freezeNext)), (.full, .finish(.failed(.deadLettersFull)))]),
        Place(name: "idle", path: [.storageFailed], exits: []),
        Place(
            name: "making what is not queued", path: Place.done,
            exits: [
                (.made(.log), .perform(.checkToken(isForced: false))),
                (.made(.envelope), .perform(.checkToken(isForced: false))),
                (.nothingPending, .finish(.drained)),
            ]),
        Place(
            name: "checking the token for an envelope", path: Place.done + [.made(.envelope)],
            exits: [
                (.token(.usable), .perform(.send)), (.token(.due(hasToken: true)), .perform(.refreshToken)),
                (.token(.due(hasToken: false)), .perform(.refreshToken)),
            ] + withoutToken),
        Place(
            name: "sending an envelope", path: Place.envelope,
            exits: unqueued
                + answers.map {
                    $0 == Place.answer(401)
                        ? ($0, .perform(.checkRefusedToken(isForced: false))) : recorded($0)
                }),
        Place(
            name: "sending an envelope again",
            path: Place.envelope + [Place.answer(401), .token(.usable)],
            exits: unqueued + answers.map { recorded($0) }),
        Place(
            name: "sending the log", path: Place.log,
            exits: unqueued + answers.map { recorded($0) }),
        Place(
            name: "settling an envelope", path: Place.envelope + [Place.answer(200), .done],
            exits: [(.done, .finish(.drained))]),
        Place(
            name: "settling the log", path: Place.log + [Place.answer(500), .done],
            exits: [(.done, .perform(.makeUnqueued))]),
    ]
}
