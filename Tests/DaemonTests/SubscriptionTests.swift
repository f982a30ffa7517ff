import ControlProtocol
import Testing

@testable import Daemon

@Suite("what a subscriber has not been sent yet")
struct SubscriptionTests {
    private func event(_ number: Int) -> Wire.Event {
        var location = Wire.Event(kind: number % 2 == 0 ? "location" : "state")
        location.state = .tracking
        return location
    }

    @Test("events come in order, and nothing is missed while they are fetched")
    func order() {
        var subscription = ClientConnection.Subscription(kinds: nil)
        for number in 0..<200 {
            subscription.add(event(number))
            let next = subscription.next()
            #expect(next?.kind == event(number).kind)
            #expect(next?.missed == nil)
        }
        #expect(subscription.next() == nil)
    }

    @Test("beyond 64 the oldest is lost, and counted once, with the event that follows the gap")
    func overflow() {
        var subscription = ClientConnection.Subscription(kinds: nil)
        for number in 0..<100 { subscription.add(Wire.Event(kind: "\(number)")) }
        #expect(subscription.events.count == 64)
        #expect(subscription.next() == Wire.Event(kind: "36", missed: 36))
        #expect(subscription.next() == Wire.Event(kind: "37"))
        for number in 100..<103 { subscription.add(Wire.Event(kind: "\(number)")) }
        #expect(subscription.next() == Wire.Event(kind: "39", missed: 1))
        var kinds: [String] = []
        while let event = subscription.next() {
            #expect(event.missed == nil)
            kinds.append(event.kind)
        }
        #expect(kinds == (40..<103).map { "\($0)" })
    }

    @Test("only the kinds that were asked for, none of which is crowded out by others")
    func kinds() {
        var subscription = ClientConnection.Subscription(kinds: ["state"])
        for number in 0..<100 { subscription.add(event(number)) }
        #expect(subscription.events.count == 50)
        #expect(subscription.missed == 0)
        var nothing = ClientConnection.Subscription(kinds: [])
        nothing.add(event(0))
        #expect(nothing.next() == nil)
    }
}
