import Base
import Linux
import Support
import Testing

@testable import GPSD
@testable import Tracking

@Test("there is no connection until it is needed")
func released() throws {
    var listener = try Listener()
    #expect(listener.run(at: 0) == [])
    #expect(listener.source.descriptor == -1)
    #expect(listener.source.deadline == nil)
    #expect(listener.health() == .released)
    #expect(!listener.gpsd.hasCaller)
}

@Test("from acquisition to the fix and back")
func lifeOfASource() throws {
    var listener = try Listener()
    listener.source.acquire(now: boot(0))
    #expect(listener.source.deadline == boot(0))
    #expect(listener.health() == .disconnected)
    #expect(try listener.connect() == [.connected])
    #expect(listener.source.descriptor >= 0 && !listener.source.wantsWrite)
    #expect(listener.health() == .disconnected, "until it has answered")
    #expect(try listener.hear(FakeGPSD.version, devicesLine) == [])
    #expect(listener.health() == .noFix)
    #expect(try listener.tpv(1, at: 1, mode: 1) == [])
    #expect(listener.health() == .noFix)
    // The first epoch closes when the second begins, whose expected size is known by then.
    let events = try listener.tpv(2, at: 2)
    #expect(events.first == .noFix)
    #expect(events.fixTimes == [2])
    #expect(try listener.tpv(3, at: 3).fixTimes == [3])
    #expect(listener.health(isSettled: false) == .unsettled)
    #expect(listener.health(isSettled: true) == .ok)
    #expect(listener.health(repeatsSince: boot(-6.9)) == .ok)
    #expect(listener.health(repeatsSince: boot(-7)) == .stale, "for 10 s it has told nothing new")
    #expect(listener.source.facts.device == "/dev/gps0")
    #expect(listener.source.facts.mode == 3)
    #expect(listener.source.facts.fixes == 2)
    #expect(listener.source.release(now: boot(4)) == [])
    #expect(listener.source.descriptor == -1)
    #expect(listener.health() == .released)
    #expect(listener.gpsd.hear() == nil, "gpsd sees the end of the connection")
}

@Test("the end of tracking closes the open epoch")
func releaseFlushes() throws {
    var listener = try Listener.watching()
    #expect(try listener.tpv(1, at: 1) == [])
    #expect(listener.source.release(now: boot(1.1)).fixTimes == [1])
}

@Test("an epoch that nothing follows closes after 1.5 s, and the source reports that deadline")
func epochExpires() throws {
    var listener = try Listener.watching()
    #expect(try listener.tpv(1, at: 1) == [])
    #expect(listener.source.deadline == boot(2.5))
    #expect(listener.run(at: 2.4) == [])
    #expect(listener.run(at: 2.5).fixTimes == [1])
}

@Test("reports that there is no device, and devices that come and go")
func devices() throws {
    var listener = try Listener.watching(devices: #"{"class":"DEVICES","devices":[]}"#)
    #expect(listener.health() == .noDevice)
    let activated = #"{"class":"DEVICE","path":"/dev/gps0","activated":"2027-03-15T08:00:00.000Z"}"#
    _ = try listener.hear(activated)
    #expect(listener.health() == .noFix)
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    #expect(listener.health() == .ok)
    _ = try listener.hear(#"{"class":"DEVICE","path":"/dev/gps0","activated":0}"#)
    #expect(listener.health() == .noDevice)
    _ = try listener.hear(activated)
    #expect(listener.health() == .noFix)
    _ = try listener.tpv(3, at: 3)
    #expect(listener.health() == .ok)
}

@Test("a source is stale 10 s after its last fix, wakes the loop for that once, and recovers")
func stale() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    #expect(listener.source.deadline == boot(12))
    #expect(listener.run(at: 11.9) == [])
    #expect(listener.health() == .ok)
    #expect(listener.run(at: 12) == [])
    #expect(listener.health() == .stale)
    #expect(listener.source.deadline == boot(32))
    _ = try listener.tpv(13, at: 13)
    #expect(listener.health() == .ok)
}

@Test("a receiver whose time is frozen is stale")
func frozen() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    for second in 2...12 { _ = try listener.tpv(2, at: Double(second)) }
    #expect(listener.source.facts.fixes == 2)
    #expect(listener.health() == .stale)
}

@Test("a lost fix is reported at once")
func fixLost() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    #expect(try listener.tpv(3, at: 3, mode: 1) == [.noFix])
    #expect(listener.health() == .noFix)
    #expect(try listener.tpv(4, at: 4).fixTimes == [4])
    #expect(listener.health() == .ok)
}

@Test("a missing gpsd is retried with back-off, and found once it is there")
func refused() throws {
    var listener = try Listener()
    listener.gpsd.stopListening()
    listener.source.acquire(now: boot(0))
    var losses: [(reason: String, retryIn: Double)] = []
    for ceiling in [1, 2, 4, 8, 16, 30, 30] as [Double] {
        let events = try listener.runUntil { events, _ in !events.isEmpty }
        #expect(events.count == 1)
        losses += events.losses
        let delay = try #require(losses.last?.retryIn)
        #expect((ceiling / 2...ceiling).contains(delay))
        #expect(losses.last?.reason.contains("refused") == true)
        #expect(listener.health() == .disconnected)
        let retryAt = listener.now + delay
        let untilRetry = listener.source.deadline?.seconds(since: boot(retryAt))
        #expect(abs(untilRetry ?? 1) < 1e-6)
        #expect(listener.run(at: retryAt - 0.01) == [])
        listener.now = retryAt + 1e-6
    }
    #expect(listener.source.facts.reconnects == 0)
}

@Test(
    "every attempt is one: a gpsd that has come by the second or the third is found there", arguments: 1...4)
func foundAtNextAttempt(failures: Int) throws {
    var listener = try Listener()
    listener.gpsd.stopListening()
    listener.source.acquire(now: boot(0))
    for _ in 0..<failures {
        let events = try listener.runUntil { events, _ in !events.isEmpty }
        listener.now += try #require(events.losses.first).retryIn + 1e-6
    }
    let gpsd = try FakeGPSD(port: listener.gpsd.port)
    #expect(try listener.runUntil { events, _ in !events.isEmpty } == [.connected])
    try gpsd.accept()
}

@Test("all addresses of a name are tried without delay")
func severalAddresses() throws {
    // localhost resolves to ::1 first, where the fake gpsd does not listen.
    var listener = try Listener(host: "localhost")
    listener.source.acquire(now: boot(0))
    #expect(try listener.connect() == [.connected])
}

@Test("an unknown name is a failed attempt like any other")
func unknownName() throws {
    var listener = try Listener(host: "no such host")
    listener.source.acquire(now: boot(0))
    let events = try listener.runUntil { events, _ in !events.losses.isEmpty }
    #expect(events.losses.count == 1)
    #expect(listener.health() == .disconnected)
}

@Test("gpsd goes away and returns: the open epoch is closed, and a new watch begins")
func peerCloses() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    let second = tpvLine(3) + "\r\n"
    try listener.gpsd.send(Array(second.utf8))
    listener.gpsd.hangUp()
    let events = try listener.runUntil { events, _ in !events.losses.isEmpty }
    #expect(events.fixTimes == [3])
    let loss = try #require(events.losses.first)
    #expect(loss.reason.contains("closed"))
    #expect((0.5...1).contains(loss.retryIn), "it had greeted us, so the back-off starts anew")
    #expect(listener.source.facts.reconnects == 1)
    #expect(listener.health() == .disconnected)
    listener.now += loss.retryIn + 1e-6
    #expect(try listener.connect() == [.connected])
    #expect(try listener.hear(FakeGPSD.version, devicesLine) == [])
    _ = try listener.tpv(5, at: 5)
    #expect(try listener.tpv(6, at: 6).fixTimes == [5, 6])
}

@Test("a gpsd that accepts and hangs up without a greeting is not hammered")
func hangsUpAtOnce() throws {
    var listener = try Listener()
    listener.source.acquire(now: boot(0))
    for ceiling in [1, 2, 4, 8, 16, 30, 30] as [Double] {
        _ = try listener.connect()
        listener.gpsd.hangUp()
        let events = try listener.runUntil { events, _ in !events.losses.isEmpty }
        let delay = try #require(events.losses.first).retryIn
        #expect((ceiling / 2...ceiling).contains(delay))
        listener.now += delay + 1e-6
    }
}

@Test("silence for 30 s is answered with a question, and silence for 10 s more with a new connection")
func silence() throws {
    var listener = try Listener.watching()
    listener.now = 1
    _ = try listener.hear()
    #expect(listener.source.deadline == boot(31))
    #expect(listener.run(at: 30.9) == [])
    #expect(listener.run(at: 31) == [])
    #expect(listener.gpsd.hear() == "?VERSION;")
    #expect(listener.source.deadline == boot(41))
    // An idle gpsd answers, and is left alone for another 30 s.
    listener.now = 35
    #expect(try listener.hear(FakeGPSD.version) == [])
    #expect(listener.source.deadline == boot(65))
    #expect(listener.run(at: 65) == [])
    #expect(listener.gpsd.hear() == "?VERSION;")
    #expect(listener.run(at: 74.9) == [])
    let events = listener.run(at: 75)
    #expect(events.losses.count == 1)
    #expect(events.losses.first?.reason.contains("40 s") == true)
    #expect(listener.health() == .disconnected)
}

@Test("a connection not established within 5 s is abandoned, and every attempt has that limit")
func connectTimeout() throws {
    let gpsd = try FakeGPSD(backlog: 0)
    gpsd.fillQueue()
    var source = try makeSource(host: "127.0.0.1", port: gpsd.port)
    source.acquire(now: boot(0))
    var now = 0.0
    for _ in 0..<4 {
        #expect(source.run(now: boot(now)) == [])
        let isConnecting = source.wantsWrite
        let deadline = source.deadline
        #expect(isConnecting)
        #expect(deadline == boot(now).advanced(bySeconds: 5))
        #expect(source.run(now: boot(now + 4.9)) == [])
        let loss = try #require(source.run(now: boot(now + 5.001)).losses.first)
        #expect(loss.reason.contains("timed out"))
        let descriptor = source.descriptor
        #expect(descriptor == -1)
        now += 5.001 + loss.retryIn + 1e-6
    }
}

@Test("the receiver in use keeps its place until it has delivered no fix for 10 s")
func deviceStickiness() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    #expect(try listener.tpv(2, at: 2).fixTimes == [1, 2])
    #expect(try listener.tpv(2.5, at: 2.5, device: "/dev/gps1") == [])
    #expect(try listener.tpv(3.5, at: 3.5, device: "/dev/gps1") == [])
    #expect(try listener.tpv(11.9, at: 11.9, device: "/dev/gps1") == [])
    let events = try listener.tpv(12, at: 12, device: "/dev/gps1")
    #expect(events.first == .deviceChanged("/dev/gps1"))
    #expect(events.fixTimes == [12])
    #expect(listener.source.facts.device == "/dev/gps1")
    // Now it is the first one that has to wait.
    #expect(try listener.tpv(13, at: 13) == [])
    #expect(try listener.tpv(13.5, at: 13.5, device: "/dev/gps1").fixTimes == [13.5])
}

@Test("a fix lost by another receiver does not affect the one in use")
func otherDeviceWithoutFix() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    #expect(try listener.tpv(2, at: 2.1, device: "/dev/gps1", mode: 1) == [])
    #expect(try listener.tpv(3, at: 2.2, device: "/dev/gps1", mode: 1) == [])
    #expect(listener.health() == .ok)
}

@Test("a pause in which nobody listened does not count as silence of the receiver")
func pauseIsDiscounted() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    listener.source.discountPause(seconds: 60)
    #expect(try listener.tpv(62, at: 62, device: "/dev/gps1") == [])
    #expect(listener.health() == .ok)
    #expect(try listener.tpv(63, at: 71.9, device: "/dev/gps1") == [])
    #expect(try listener.tpv(64, at: 72, device: "/dev/gps1").first == .deviceChanged("/dev/gps1"))
}

@Test("one of two receivers is unplugged: there is still one")
func oneOfTwo() throws {
    var listener = try Listener.watching(devices: devicesLine("/dev/gps0", "/dev/gps1"))
    _ = try listener.hear(#"{"class":"DEVICE","path":"/dev/gps1","activated":0}"#)
    #expect(listener.health() == .noFix)
    _ = try listener.hear(#"{"class":"DEVICE","path":"/dev/gps0","activated":0}"#)
    #expect(listener.health() == .noDevice)
    _ = try listener.tpv(1, at: 1, device: "/dev/gps2")
    #expect(listener.health() == .noFix, "one that reports is there")
}

@Test("the satellites are those of the receiver in use")
func satellitesOfTheOneInUse() throws {
    var listener = try Listener.watching()
    _ = try listener.tpv(1, at: 1)
    _ = try listener.tpv(2, at: 2)
    _ = try listener.hear(skyLine(visible: 5, device: "/dev/gps0"))
    // Any other sky report would satisfy the wait for the unnamed marker too early or too late.
    try listener.gpsd.say(skyLine(visible: 11, device: "/dev/gps0"))
    try listener.gpsd.say(skyLine(visible: 12, device: "/dev/gps1"))
    try listener.gpsd.say(tpvLine(3))
    #expect(try listener.runUntil { events, _ in !events.isEmpty }.fixTimes == [3])
    #expect(listener.source.facts.satellitesVisible == 11)
}

@Test("a pinned receiver that gpsd does not have is missing, whatever others there are")
func pinnedIsMissing() throws {
    var listener = try Listener.watching(device: "/dev/gps1")
    #expect(listener.health() == .noDevice)
    _ = try listener.hear(devicesLine("/dev/gps0", "/dev/gps1"))
    #expect(listener.health() == .noFix)
    _ = try listener.hear(#"{"class":"DEVICE","path":"/dev/gps0","activated":0}"#)
    #expect(listener.health() == .noFix)
    _ = try listener.hear(#"{"class":"DEVICE","path":"/dev/gps1","activated":0}"#)
    #expect(listener.health() == .noDevice)
}

@Test("only the pinned receiver is used")
func pinnedDevice() throws {
    var listener = try Listener.watching(device: "/dev/gps1", devices: devicesLine("/dev/gps0", "/dev/gps1"))
    for second in 1...20 {
        #expect(try listener.tpv(Double(second), at: Double(second)) == [])
    }
    #expect(listener.health() == .noFix)
    _ = try listener.tpv(21, at: 21, device: "/dev/gps1")
    #expect(try listener.tpv(22, at: 22, device: "/dev/gps1").fixTimes == [21, 22])
    #expect(listener.source.facts.device == "/dev/gps1")
}

@Test("a flood is processed in portions, so that nothing else starves")
func flood() throws {
    var listener = try Listener.watching()
    let flood = Array((0..<4000).map { tpvLine(Double($0) / 10) + "\r\n" }.joined().utf8)
    var sent = 0
    var runs = 0
    var fixes: [Double] = []
    let isHeard = wait {
        if sent < flood.count { sent += listener.gpsd.sendWhatFits(Array(flood[sent...])) }
        let events = listener.run(at: 1)
        fixes += events.fixTimes
        runs += 1
        return fixes.count >= 3999
    }
    #expect(isHeard)
    #expect(runs >= flood.count / (65_536 + Socket.lineLimit))
    #expect(fixes == (0..<4000).map { Double($0) / 10 }.prefix(fixes.count).map { $0 })
}

@Test("acquiring and releasing a source repeatedly leaks no descriptor")
func noLeak() throws {
    var listener = try Listener()
    var counts: [Int] = []
    // Other tests take some meanwhile, and may take each that is free; not so again and again.
    while counts.count < 10, counts.last ?? 50 >= 40 {
        var descriptors: Set<Int32> = []
        for _ in 0..<50 {
            listener.now += 1
            listener.source.acquire(now: boot(listener.now))
            _ = try listener.connect()
            descriptors.insert(listener.source.descriptor)
            _ = listener.source.release(now: boot(listener.now))
            listener.gpsd.hangUp()
        }
        counts.append(descriptors.count)
    }
    #expect(counts.contains { $0 < 40 }, "\(counts)")
}
