import Base
import Testing

@testable import Tracking

/// Who may do what, said again without order or time: a person's stop falls only to a person, or to an edge that starts.
private func expected(_ new: Wish, after present: Wish) -> Wish.Verdict {
    guard present.origin == .person, !present.tracks else { return .taken }
    switch (new.origin, new.tracks) {
    case (.person, _), (.schedule, true), (.ignition, true): return .taken
    case (.server, true): return .refused
    case (.server, false), (.schedule, false), (.ignition, false): return .kept
    }
}

private let all = Wish.Origin.allCases.flatMap { origin in
    [true, false].map { Wish(tracks: $0, origin: origin, time: nil) }
}

@Suite("wish")
struct WishTests {
    @Test("each wish after each other")
    func pairs() {
        for new in all {
            #expect(new.judge(after: nil) == .taken)
            for present in all {
                #expect(new.judge(after: present) == expected(new, after: present), "\(new) after \(present)")
            }
        }
    }

    @Test(
        "all orders of five wishes: tracking is what the newest wishes, but the server never ends a person's stop"
    )
    func orders() {
        var sequences: [[Wish]] = [[]]
        for _ in 0..<5 { sequences = sequences.flatMap { sequence in all.map { sequence + [$0] } } }
        for sequence in sequences {
            var present: Wish?
            var isHeld = false
            var tracks = false
            for wish in sequence {
                let verdict = wish.judge(after: present)
                if verdict == .taken { present = wish }
                // The same by two flags.
                if wish.origin == .person { isHeld = !wish.tracks }
                if wish.tracks, wish.origin == .schedule || wish.origin == .ignition { isHeld = false }
                if !(isHeld && wish.origin == .server && wish.tracks) { tracks = wish.tracks }
            }
            guard present?.tracks == tracks, present?.isPersonsStop == isHeld else {
                Issue.record("\(sequence)")
                return
            }
            for request in Wish.ServerRequest.allCases where Wish.allows(request, while: present) == isHeld {
                guard request == .harmless else {
                    Issue.record("\(request) while \(sequence)")
                    return
                }
            }
        }
    }

    @Test(
        "an edge of the schedule that is made up for is judged by its time",
        arguments: [
            (7, 8, Wish.Verdict.kept), (8, 8, .kept), (9, 8, .taken), (nil, 8, .taken), (7, nil, .taken),
        ] as [(Int?, Int?, Wish.Verdict)])
    func times(edge: Int?, present: Int?, verdict: Wish.Verdict) {
        func time(_ hour: Int?) -> Timestamp? { hour.map { Timestamp(milliseconds: Int64($0) * 3_600_000) } }
        let new = Wish(tracks: true, origin: .schedule, time: time(edge))
        #expect(new.judge(after: Wish(tracks: false, origin: .person, time: time(present))) == verdict)
        // The others come when they are made, whatever the clock says.
        let person = Wish(tracks: true, origin: .person, time: time(edge))
        #expect(person.judge(after: Wish(tracks: false, origin: .person, time: time(present))) == .taken)
    }

    @Test("stops by schedule and ignition are the system's")
    func reasons() {
        let reasons = Wish.Origin.allCases.map { Wish(tracks: false, origin: $0, time: nil).isSystems }
        #expect(reasons == [false, false, true, true])
        #expect(Wish.Origin.allCases.map(\.rawValue) == ["person", "server", "schedule", "ignition"])
    }
}
