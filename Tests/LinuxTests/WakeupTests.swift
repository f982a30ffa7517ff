import Glibc
import Support
import Testing

@testable import Linux

private func isReady(_ descriptor: Int32, within seconds: Double? = 0) -> Bool {
    var poll = Rest()
    poll.add(descriptor)
    poll.wait(seconds: seconds)
    return poll.isReadable(0)
}

@Test("a mailbox accepts messages up to its limit, wakes its owner, and returns them in order")
func mailbox() throws {
    let mailbox = try Mailbox<Int>(limit: 3)
    #expect(!isReady(mailbox.wakeup.descriptor))
    #expect((1...5).map { mailbox.post($0) } == [true, true, true, false, false])
    #expect(isReady(mailbox.wakeup.descriptor))
    #expect(mailbox.takeAll() == [1, 2, 3])
    #expect(!isReady(mailbox.wakeup.descriptor))
    #expect(mailbox.takeAll() == [])
    #expect(mailbox.post(6))
    #expect(mailbox.takeAll() == [6])
}

@Test("all messages from several threads arrive, and none goes unnoticed")
func mailboxThreads() throws {
    let mailbox = try Mailbox<(Int, Int)>(limit: 10_000)
    for thread in 0..<4 {
        try startThread(named: "post") {
            for number in 0..<1000 { _ = mailbox.post((thread, number)) }
        }
    }
    var next = [0, 0, 0, 0]
    let isComplete = try wait {
        _ = isReady(mailbox.wakeup.descriptor, within: 5)
        for (thread, number) in mailbox.takeAll() {
            try #require(next[thread] == number, "in order for each thread")
            next[thread] += 1
        }
        return next == [1000, 1000, 1000, 1000]
    }
    #expect(isComplete)
}

@Test("what comes while a mailbox is emptied is taken with the rest, or leaves the wake-up signalled")
func mailboxRace() throws {
    let mailbox = try Mailbox<Int>(limit: 1)
    let (taken, told) = (try Mailbox<[Int]>(limit: 1), try Mailbox<String>(limit: 1))
    // Now clearing waits until the wake-up is signalled: there the owner stands still for the message to come in between.
    #expect(fcntl(mailbox.wakeup.descriptor, F_SETFL, 0) == 0)
    try startThread(named: "owner") {
        let status = try? readFile("/proc/thread-self/stat", limit: 1000)
        _ = told.post(String(decoding: status?.prefix { $0 != UInt8(ascii: " ") } ?? [], as: UTF8.self))
        _ = taken.post(mailbox.takeAll())
    }
    #expect(isReady(told.wakeup.descriptor, within: 30))
    let owner = try #require(told.takeAll().first)
    let isClearing = try wait {
        let status = try readFile("/proc/self/task/\(owner)/stat", limit: 1000)
        return String(decoding: status, as: UTF8.self).contains(") S ")
    }
    #expect(isClearing)
    #expect(mailbox.post(7))
    #expect(isReady(taken.wakeup.descriptor, within: 30))
    #expect(taken.takeAll() == [[7]] || isReady(mailbox.wakeup.descriptor))
}

@Test("poll sleeps for no less than its timeout, and wakes at once when something is ready")
func pollTimeouts() throws {
    let wakeup = try Wakeup()
    for seconds in [0, 0.0004, 0.02] {
        let start = monotonicSeconds()
        #expect(!isReady(wakeup.descriptor, within: seconds))
        #expect(monotonicSeconds() - start >= seconds, "rounded up: rounding down would spin")
    }
    wakeup.signal()
    // Without an end, or one that never comes: what slept here would be seen.
    #expect(isReady(wakeup.descriptor, within: nil))
    #expect(isReady(wakeup.descriptor, within: 1e12))
    wakeup.clear()
    #expect(!isReady(wakeup.descriptor, within: -1), "a deadline that has passed does not wait")
}

@Test("poll distinguishes the entries, and a descriptor of -1 is never ready")
func pollEntries() throws {
    let (quiet, loud) = (try Wakeup(), try Wakeup())
    loud.signal()
    var poll = Rest()
    poll.add(-1)
    poll.add(quiet.descriptor)
    poll.add(loud.descriptor, read: true, write: true)
    poll.add(quiet.descriptor, read: false, write: true)
    poll.wait(seconds: 5)
    #expect((0..<4).map { poll.isReadable($0) } == [false, false, true, false])
    #expect((0..<4).map { poll.isWritable($0) } == [false, false, true, true])
}

@Test("a hang-up at the other end makes a descriptor ready")
func pollHangUp() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reader = FileDescriptor(owning: ends[0])
    #expect(!isReady(reader.raw))
    close(ends[1])
    #expect(isReady(reader.raw, within: nil))
}

@Test("threads have their names")
func threadName() throws {
    let mailbox = try Mailbox<String>(limit: 1)
    try startThread(named: "beekon-reader") {
        let name = try? readFile("/proc/thread-self/comm", limit: 100)
        _ = mailbox.post(String(decoding: name ?? [], as: UTF8.self))
    }
    #expect(isReady(mailbox.wakeup.descriptor, within: 30))
    #expect(mailbox.takeAll() == ["beekon-reader\n"])
}

@Test("the boot clock advances and the real-time clock is in this century")
func clocks() {
    let before = Clock.boot()
    #expect(Clock.boot() >= before)
    #expect(Clock.realtimeMilliseconds() > 1_700_000_000_000)
    _ = Clock.isSynchronised()
}
