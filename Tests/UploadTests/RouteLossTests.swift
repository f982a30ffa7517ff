import Base
import Testing

@testable import Upload

@Suite("how long there was no route")
struct RouteLossTests {
    private func at(_ seconds: Double) -> BootInstant {
        BootInstant(nanoseconds: 0).advanced(bySeconds: seconds)
    }

    @Test("since the start, when none was there before")
    func start() {
        var loss = RouteLoss(now: at(100))
        #expect(loss.appeared(now: at(120)) == 20)
        // Another one.
        #expect(loss.appeared(now: at(130)) == 0)
        loss.vanished(now: at(200))
        loss.vanished(now: at(205))
        #expect(loss.appeared(now: at(230)) == 30)
    }

    @Test("since it vanished, when one was there at the start: a tunnel is no outage of hours")
    func present() {
        var loss = RouteLoss(now: at(100))
        loss.vanished(now: at(7200))
        loss.vanished(now: at(7205))
        #expect(loss.appeared(now: at(7230)) == 30)
    }
}
