import Testing
import Tracking

@testable import Daemon

@Suite("the watchdog")
struct WatchdogTests {
    private var watchdog = Watchdog(timeout: 180, now: instant(0))

    private mutating func look(_ second: Double, reader: Double = 0, uploader: Double = 0) -> Watchdog.Action
    {
        watchdog.look(now: instant(second), busy: [("reader", reader), ("uploader", uploader)])
    }

    @Test("is fed three times within the manager's patience, and not between")
    mutating func pace() {
        #expect(look(59.9) == .wait)
        #expect(look(60) == .feed)
        #expect(look(61) == .wait)
        #expect(watchdog.next == instant(120))
        #expect(look(121) == .feed)
        #expect(watchdog.next == instant(181))
    }

    @Test("a thread may be at one thing for two minutes")
    mutating func slow() {
        #expect(look(60, reader: 60) == .feed)
        #expect(look(120, reader: 120, uploader: 119) == .feed)
    }

    @Test("is starved by a thread that hangs, which is reported once, and fed again when it gets on")
    mutating func stuck() {
        #expect(look(60, reader: 120.1) == .starve(report: ["reader"]))
        #expect(look(120, reader: 180.1, uploader: 121) == .starve(report: ["uploader"]))
        #expect(look(180, reader: 240.1, uploader: 181) == .starve(report: []))
        #expect(look(240, reader: 1) == .feed)
        #expect(look(300, reader: 121) == .starve(report: ["reader"]))
    }

    @Test("hours of suspend are no work: what was under way has until the next look")
    mutating func suspended() {
        #expect(look(60) == .feed)
        #expect(look(30_000, reader: 29_990) == .feed)
        #expect(look(30_060, reader: 30_050) == .starve(report: ["reader"]))
    }
}

@Suite("how long threads have been at one thing")
struct WorkWatchTests {
    @Test("a salvage that gets on is progress of all that wait for it, however long it takes")
    func salvage() {
        let (reader, uploader) = (Work(), Work())
        reader.begin(instant(1))
        var watch = WorkWatch()
        func busy(_ second: Double, salvaged: Int) -> [Double] {
            let threads = [("reader", reader), ("uploader", uploader)]
            return watch.busy(threads, salvaged: salvaged, now: instant(second)).map(\.seconds)
        }
        #expect(busy(50, salvaged: 0) == [49, 0])
        for piece in 1...100 { #expect(busy(Double(100 * piece), salvaged: piece) == [0, 0]) }
        #expect(busy(10_121, salvaged: 100) == [121, 0])
        // What was begun since then counts from its beginning.
        uploader.begin(instant(10_100))
        reader.rest()
        #expect(busy(10_121, salvaged: 100) == [0, 21])
    }
}
