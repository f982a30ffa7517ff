@testable import Upload

/// A drain that has got somewhere, and what follows there from each event that can come.
struct Place {
    var name: String
    /// What led there from the beginning.
    var path: [Drain.Event]
    var isOwed = false
    /// All other events end the drain as a failure that is tried again.
    var exits: [(Drain.Event, Drain.Step)]

    func drain(isForced: Bool = false) -> Drain {
        var drain = Drain()
        if isOwed {
            _ = drain.begin(hasWork: true, isForced: false)
            for event in Place.accepted + [.storageFailed] { _ = drain.handle(event) }
        }
        _ = drain.begin(hasWork: true, isForced: isForced)
        for event in path { _ = drain.handle(event) }
        return drain
    }

    static let later = Drain.Step.finish(.transient(isNetwork: false, retryAfter: nil))

    static let frozen: [Drain.Event] = [.done, .frozen(rows: 4, isIsolating: false)]
    static let isolating: [Drain.Event] = [.done, .frozen(rows: 4, isIsolating: true)]
    static let sending: [Drain.Event] = frozen + [.token(.usable)]
    static let refused: [Drain.Event] = sending + [answer(401)]
    static let accepted: [Drain.Event] = sending + [answer(200), .done]

    /// Nothing is pending.
    static let done: [Drain.Event] = [.done, .nothingPending]
    static let envelope: [Drain.Event] = done + [.made(.envelope), .token(.usable)]
    static let log: [Drain.Event] = done + [.made(.log), .token(.usable)]

    static let beforeProbe: [Drain.Event] = sending + [answer(404), .done, .done, .needsProbe]
    static let probing: [Drain.Event] = beforeProbe + [.frozen(rows: 1, isIsolating: false), .token(.usable)]

    static func answer(_ status: Int, _ doubt: Doubt? = nil, canRenew: Bool = true) -> Drain.Event {
        .answered(Judgement(status: status, retryAfter: 7, doubt: doubt), canRenew: canRenew)
    }
}
