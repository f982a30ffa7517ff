import Base
import Testing

@testable import Daemon

@Suite("how far the threads have got")
struct LifecycleTests {
    private let now = instant(1000)

    @Test("the end begins once, and is there when all have ended")
    func end() {
        var lifecycle = Lifecycle(running: ["reader", "uploader"])
        #expect(!lifecycle.isOver(now: now) && lifecycle.stopBy == nil && !lifecycle.isReady)
        let isFirst = [lifecycle.stop(now: now), lifecycle.stop(now: now.advanced(bySeconds: 1))]
        #expect(isFirst == [true, false])
        #expect(lifecycle.stopBy == now.advanced(bySeconds: 1.5))
        for name in ["reader", "uploader"] {
            #expect(!lifecycle.isOver(now: now))
            let wasAsked = lifecycle.ended(name)
            #expect(wasAsked)
        }
        #expect(lifecycle.isOver(now: now))
    }

    @Test("it is ready once all that it starts with have shown how they begin, and stays so")
    func ready() {
        var lifecycle = Lifecycle(running: ["reader", "uploader"])
        lifecycle.started("uploader second", isAtStart: true)
        for name in ["uploader second", "uploader", "uploader"] {
            lifecycle.published(name)
            #expect(!lifecycle.isReady)
        }
        lifecycle.published("reader")
        #expect(lifecycle.isReady)
        lifecycle.started("uploader third", isAtStart: false)
        #expect(lifecycle.isReady)
    }

    @Test("nobody waits for one that hangs")
    func hang() {
        var lifecycle = Lifecycle(running: ["reader", "uploader"])
        _ = lifecycle.stop(now: now)
        _ = lifecycle.ended("uploader")
        #expect(!lifecycle.isOver(now: now.advanced(bySeconds: 1.4)))
        #expect(lifecycle.isOver(now: now.advanced(bySeconds: 1.6)))
        #expect(lifecycle.running == ["reader"])
    }

    @Test("one that ends unasked is found out")
    func failure() {
        var lifecycle = Lifecycle(running: ["reader", "uploader"])
        let wasAsked = lifecycle.ended("reader")
        #expect(!wasAsked && !lifecycle.isOver(now: now))
    }
}
