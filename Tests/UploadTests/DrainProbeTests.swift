import Testing

@testable import Upload

@Suite("the drain's probe")
struct DrainProbeTests {
    /// What follows a probe's way to its end, each event after the other.
    private static func end(_ events: [Drain.Event], isForced: Bool = false) -> Drain.Step {
        var drain = Place(name: "probing", path: Place.probing, exits: []).drain(isForced: isForced)
        return events.reduce(Place.later) { _, event in drain.handle(event) }
    }

    @Test(
        "a probe that is not accepted leaves everything as it is, and the drain fails as it would have",
        arguments: [
            [Place.answer(404), .done, .done], [Place.answer(500), .done],
            [Place.answer(200, .page), .done, .done], [.failed(isForTime: false)], [.closed, .done],
            [.failed(isForTime: true), .done], [.storageFailed],
        ] as [[Drain.Event]])
    func refusedProbe(events: [Drain.Event]) {
        #expect(Self.end(events) == .finish(.failed(.permanent)))
    }

    @Test(
        "an accepted probe is deleted before the row ahead of it becomes a dead letter, and then the drain goes on"
    )
    func acceptedProbe() {
        #expect(Self.end([Place.answer(200), .done]) == .perform(.acknowledge(freezingNext: false)))
        #expect(Self.end([Place.answer(200), .done, .done]) == .perform(.deadLetterProbed))
        #expect(Self.end([Place.answer(200), .done, .done, .done]) == .perform(.freezeNext))
    }

    @Test("a probe that was accepted and could not be deleted is deleted first, and its word is lost")
    func owedProbe() {
        var drain = Place(name: "probing", path: Place.probing, exits: []).drain()
        for event in [Place.answer(200), .done] { _ = drain.handle(event) }
        #expect(drain.handle(.storageFailed) == Place.later)
        #expect(drain.begin(hasWork: true, isForced: false) == .perform(.acknowledge(freezingNext: false)))
        #expect(drain.handle(.done) == .perform(.registerEndpoint))
    }

    @Test("a probe that is broken off is over: the row ahead of it goes again")
    func abortedProbe() {
        var drain = Place(name: "probing", path: Place.probing, exits: []).drain()
        drain.abort()
        _ = drain.handle(.underway)
        #expect(drain.handle(.cancelled) == .perform(.freezeNext))
        for event in [Place.frozen[1], .token(.usable), Place.answer(200), .done] { _ = drain.handle(event) }
        #expect(drain.handle(.done) == .perform(.freezeNext))
    }

    @Test(
        "what a broker says of the connection, or takes of nobody, is no row's fault",
        arguments: [
            (MQTTAnswer.Source.connack, 138, false), (.connack, 5, false),
            (.client, MQTTCode.unsupportedQoS, false), (.client, MQTTCode.packetTooLarge, true),
            (.client, MQTTCode.invalidTopic, true), (.puback, 131, true), (.disconnect, 144, true),
        ] as [(MQTTAnswer.Source, UInt8, Bool)])
    func brokers(source: MQTTAnswer.Source, code: UInt8, needsProbe: Bool) {
        let answer = MQTTAnswer(source: source, code: code, version: .v5)
        let judgement = OwnTracksMQTT.judge(answer, acceptsUnsubscribed: false)
        let path = Place.sending + [.answered(judgement, canRenew: false), .done]
        var drain = Place(name: "marking", path: path, exits: []).drain()
        #expect(
            drain.handle(.done)
                == (needsProbe
                    ? .perform(.countRefusal(nil, isScheduled: true)) : .finish(.failed(.permanent))))
    }

    @Test("a drain that somebody asks for is no scheduled run")
    func forcedRefusal() {
        let path = Place.sending + [Place.answer(404), .done]
        var drain = Place(name: "marking", path: path, exits: []).drain(isForced: true)
        #expect(drain.handle(.done) == .perform(.countRefusal(nil, isScheduled: false)))
    }
}
