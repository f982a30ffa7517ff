import Base
import Linux
import Synchronization
import Testing
import Tracking
import Upload

@testable import Daemon

@Suite("what crosses between the threads")
struct BoardTests {
    @Test("a snapshot that is published is the one that is seen")
    func snapshots() throws {
        let board = Board()
        let port = try UploaderPort(.main)
        #expect(port.snapshot == UploaderSnapshot())
        #expect(board.readerSnapshot.fixes.admitted == 0 && board.fences == nil && board.newest == nil)
        var reader = ReaderSnapshot()
        reader.fixes.admitted = 7
        reader.fences = []
        reader.extras = ["driver": "7"]
        board.publish(reader)
        var uploader = UploaderSnapshot()
        uploader.failure = .auth
        port.publish(uploader)
        #expect(board.readerSnapshot.fixes.admitted == 7)
        #expect(board.fences == [] && board.extras == ["driver": "7"])
        #expect(port.snapshot == uploader)
        let isStopping = board.isStopping.load(ordering: .relaxed)
        #expect(!isStopping)
    }

    @Test("a thread is busy from the beginning of its work until it rests")
    func work() {
        let work = Work()
        #expect(work.busyFor(instant(1000)) == 0)
        work.begin(instant(1000))
        #expect(work.busyFor(instant(1120.5)) == 120.5)
        work.begin(instant(1200))
        #expect(work.busyFor(instant(1201)) == 1)
        work.rest()
        #expect(work.busyFor(instant(1e6)) == 0)
        // The very moment of the boot is a beginning too.
        work.begin(instant(0))
        #expect(work.busyFor(instant(5)) > 4.9)
    }

    @Test(
        "the receiver's time is carried on by the boot clock, and counts unless the system's is known to be good"
    )
    func wallClock() {
        let system = start
        for isSynchronised in [true, false] {
            let clock = WallClock(
                Moment(boot: instant(0), system: system, isSynchronised: isSynchronised))
            #expect(clock.time(now: instant(2)) == system.advanced(bySeconds: 2))
            #expect(clock.system(now: instant(0)).isKnownGood == isSynchronised)
            let wrong = system.advanced(bySeconds: -1e8)
            clock.observe(wrong, now: instant(1000))
            let time = clock.time(now: instant(1060))
            #expect(
                time == (isSynchronised ? system : wrong.advanced(bySeconds: -1000)).advanced(bySeconds: 1060)
            )
            #expect(clock.system(now: instant(1060)).isKnownGood == isSynchronised)
            // A clock that is set meanwhile counts from the next turn on.
            clock.begin(
                Moment(boot: instant(1060), system: start.advanced(bySeconds: 9), isSynchronised: true))
            #expect(clock.time(now: instant(1061)) == start.advanced(bySeconds: 10))
        }
    }

    @Test("a system clock within a minute of the receiver's is known to be good", arguments: [-50.0, 0, 50])
    func agreement(seconds: Double) {
        let clock = WallClock(Moment(boot: instant(1000), system: start, isSynchronised: false))
        clock.observe(start.advanced(bySeconds: seconds), now: instant(1000))
        #expect(clock.system(now: instant(1000)).isKnownGood)
        #expect(clock.time(now: instant(1000)) == start)
        // Disagreement that comes later is seen too.
        clock.observe(start.advanced(bySeconds: 100), now: instant(1001))
        #expect(!clock.system(now: instant(1001)).isKnownGood)
    }

    @Test("control characters of any kind do not reach the log")
    func escaping() {
        #expect(Log.escaped("plain é😀") == "plain é😀")
        #expect(
            Log.escaped("a\nb\r\t\0\u{1B}[31m\u{7F}\u{9B}z")
                == "a\\u{a}b\\u{d}\\u{9}\\u{0}\\u{1b}[31m\\u{7f}\\u{9b}z")
        #expect(Log.escaped("\r\n") == "\\u{d}\\u{a}")
        #expect(Log.escaped("") == "")
    }
}
