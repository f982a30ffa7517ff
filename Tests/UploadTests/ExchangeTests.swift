import Base
import Support
import Testing

@testable import Upload

@Suite("an exchange with the token endpoint")
struct ExchangeTests {
    private static let good = #"{"access_token":"a1","refresh_token":"r1"}"#

    @Test(
        "that is answered in whatever way",
        arguments: [
            (status: 200, body: good, death: AuthRecord.Death?.none, isTransient: false),
            (201, good, nil, false), (204, "", .noToken, false), (200, "", .noToken, false),
            (200, "<html>", .noToken, false), (200, "{}", .noToken, false), (299, good, nil, false),
            (301, good, .refused, false), (302, good, .refused, false), (304, "", .refused, false),
            (308, good, .refused, false), (400, good, .refused, false), (401, good, .refused, false),
            (403, good, .refused, false), (404, "", .refused, false), (405, "", .refused, false),
            (409, "", .refused, false), (410, "", .refused, false), (413, "", .refused, false),
            (418, "", .refused, false), (422, "", .refused, false), (425, "", .refused, false),
            (451, "", .refused, false), (408, good, nil, true), (429, good, nil, true),
            (500, good, nil, true),
            (501, "", nil, true), (502, "", nil, true), (503, "", nil, true), (504, "", nil, true),
            (599, "", nil, true),
        ])
    func answers(status: Int, body: String, death: AuthRecord.Death?, isTransient: Bool) {
        let rig = AuthRig(.usual())
        let result = rig.exchange(status, body)
        #expect(rig.auth.record.death == death)
        #expect(rig.auth.failures == (isTransient ? 1 : 0))
        if let death {
            #expect(result == .dead(death))
            #expect(rig.auth.record.deathStatus == status)
            #expect(rig.refused() == .dead)
            #expect(rig.refused(isForced: true) == .dead)
        } else if isTransient {
            guard case .later(let seconds)? = result else { return #expect(Bool(false), "\(status)") }
            #expect((1...2).contains(seconds))
            #expect(rig.auth.authorization == "Bearer a0")
        } else {
            #expect(result == .renewed)
            #expect(rig.auth.authorization == "Bearer a1")
        }
    }

    @Test("is written down before it begins, and a new pair before it is used")
    func order() {
        let rig = AuthRig(.usual())
        let mapping = rig.begin()?.mapping
        #expect(mapping != nil)
        #expect(!rig.auth.isSaved && !rig.auth.awaitsDisk && rig.auth.record.isExchanging)
        rig.auth.saved()
        _ = rig.auth.end(
            .response(status: 200, body: Array(Self.good.utf8), retryAfter: nil), mapping ?? TokenMapping(),
            rig.instant, using: &rig.random)
        #expect(rig.auth.awaitsDisk && !rig.auth.isSaved)
        #expect(rig.auth.record.previous == Tokens(access: "a0", refresh: "r0"))
        rig.auth.saved()
        #expect(!rig.auth.awaitsDisk)
        // The old pair goes when the new one has worked, with the next exchange.
        let used = rig.copy()
        used.auth.worked("Bearer a1")
        _ = used.auth.begin(used.instant)
        #expect(used.auth.record.previous == nil)
        _ = rig.auth.begin(rig.instant)
        #expect(rig.auth.record.previous != nil)
    }

    @Test("that could not be written down was not begun")
    func calledOff() {
        let rig = AuthRig(.usual())
        _ = rig.auth.begin(rig.instant)
        rig.auth.callOff()
        #expect(!rig.auth.record.isExchanging)
        #expect(rig.refused() == .refresh)
        // While nothing is to be sent the disk is left alone for a while.
        rig.auth.demand(afterRefusalOf: rig.auth.authorization)
        #expect(rig.auth.idleDue(rig.instant) == rig.instant.now.advanced(bySeconds: 10))
    }

    @Test("backs off, then rests; only a request of the user goes before that")
    func breaker() {
        let rig = AuthRig(.usual())
        for (failures, range) in [
            (1, 1.0...2.0), (2, 2...4), (3, 30...60), (4, 60...120), (5, 120...240), (6, 240...480),
            (7, 480...960), (8, 960...1920), (9, 1800...3600), (10, 1800...3600),
        ] {
            guard case .later(let seconds)? = rig.exchange(500) else { return #expect(Bool(false)) }
            #expect(range.contains(seconds), "\(failures)")
            #expect(rig.state.word == (failures < 3 ? .valid : .breakerOpen))
            #expect(rig.state.failures == failures)
            guard case .wait(let rest) = rig.refused() else { return #expect(Bool(false)) }
            #expect(abs(rest - seconds) < 1e-6)
            #expect(rig.refused(isForced: true) == .refresh)
            rig.now += seconds - 0.001
            #expect(rig.refused() != .refresh)
            rig.now += 0.002
            #expect(rig.refused() == .refresh)
        }
        #expect(rig.exchange(200, Self.good) == .renewed)
        #expect(rig.state.failures == 0 && rig.state.word == .valid)
        guard case .later(let seconds)? = rig.exchange(500) else { return #expect(Bool(false)) }
        #expect(seconds <= 2)
    }

    @Test("waits as long as the endpoint asks")
    func retryAfter() {
        let rig = AuthRig(.usual())
        #expect(rig.exchange(503, retryAfter: 700) == .later(700))
        rig.auth.networkReturned()
        #expect(rig.refused() == .wait(700))
    }

    @Test("that the network has lost begins again when the network is back")
    func network() {
        let rig = AuthRig(.usual())
        for _ in 0..<6 { rig.exchange(.lost(wasSent: false)) }
        #expect(rig.auth.waitsForNetwork && rig.state.word == .breakerOpen)
        #expect(rig.refused() != .refresh)
        rig.auth.networkReturned()
        #expect(rig.refused() == .refresh)
    }

    @Test("fails, and what is left of the token is used up")
    func useUp() {
        let expiry = AuthRig.epoch + 1030
        let rig = AuthRig(.usual(seed: Tokens(access: "a0", refresh: "r0", expiresAt: expiry)))
        #expect(rig.need() == .refresh)
        rig.exchange(503, retryAfter: 100)
        #expect(rig.need() == .nothing)
        rig.now += 31
        #expect(rig.need() == .wait(69))
        let dead = AuthRig(.usual(seed: Tokens(access: "a0", refresh: "r0", expiresAt: expiry)))
        dead.exchange(400)
        dead.now += 100
        #expect(dead.need() == .nothing)
    }

    @Test("after a death is tried once a start and once an hour")
    func revival() {
        let rig = AuthRig(.usual())
        rig.exchange(400)
        rig.now += 1e6
        #expect(rig.refused() == .dead)
        #expect(rig.auth.idleDue(rig.instant) == nil)
        // A start soon after: the hour is waited for.
        var next = AuthRig(.usual())
        next.exchange(400)
        next = next.restarted(.usual(), after: 600)
        #expect(next.refused() == .dead)
        #expect(next.auth.idleDue(next.instant) == Rig.instant(next.now + 3000))
        next.now += 3000
        #expect(next.refused() == .refresh)
        #expect(next.exchange(404) == .dead(.refused))
        #expect(next.refused() == .dead)
        // A later start, and an endpoint that has been repaired.
        next = next.restarted(.usual(), after: 3600)
        #expect(next.refused() == .refresh)
        #expect(next.exchange(200, Self.good) == .renewed)
        #expect(next.state.word == .valid)
    }

    @Test("after a death and a reboot is told apart by the clock, or by the uptime")
    func revivalAfterReboot() {
        let rig = AuthRig(.usual())
        rig.exchange(400)
        // The boot time begins anew. With a clock, the hour is an hour.
        var next = AuthRig(.usual(), record: rig.auth.record, now: 20)
        #expect(next.time < rig.time)
        #expect(next.refused() == .refresh, "a clock that goes back proves nothing")
        next = AuthRig(.usual(), record: rig.auth.record, now: 20, hasTime: false)
        #expect(next.refused() == .refresh, "less uptime than then is another boot")
        next = AuthRig(.usual(), record: rig.auth.record, now: 1500, hasTime: false)
        #expect(next.refused() == .dead, "more uptime may be the same boot")
    }

    @Test("that a restart has cut off leaves one attempt")
    func cut() {
        for answer in [400, 401, 302] {
            let rig = AuthRig(.usual())
            _ = rig.auth.begin(rig.instant)
            let next = rig.restarted(.usual())
            #expect(next.auth.record.isExchanging)
            #expect(next.state.word == .valid)
            #expect(next.refused() == .refresh)
            #expect(next.exchange(answer) == .dead(.rotationInterrupted))
            #expect(next.refused() == .dead)
            #expect(!next.auth.record.isExchanging)
        }
        // With a grace window the attempt brings a pair.
        let rig = AuthRig(.usual())
        _ = rig.auth.begin(rig.instant)
        let next = rig.restarted(.usual())
        #expect(next.exchange(200, Self.good) == .renewed)
        #expect(next.exchange(400) == .dead(.refused))
    }

    @Test(
        "that the network has cut off leaves one attempt, if the request was sent",
        arguments: [
            (answer: Authenticator.Answer.lost(wasSent: true), death: AuthRecord.Death.rotationInterrupted),
            (.lost(wasSent: false), .refused),
            (.response(status: 504, body: [], retryAfter: nil), .rotationInterrupted),
            (.response(status: 502, body: [], retryAfter: nil), .rotationInterrupted),
            (.response(status: 500, body: [], retryAfter: nil), .refused),
        ])
    func lost(answer: Authenticator.Answer, death: AuthRecord.Death) {
        let rig = AuthRig(.usual())
        rig.exchange(answer)
        #expect(rig.auth.record.isExchanging == (death == .rotationInterrupted))
        #expect(rig.exchange(400) == .dead(death))
    }

    @Test("takes place without an upload, so that a parked vehicle keeps its tokens alive")
    func idle() throws {
        let rig = AuthRig(.usual(seed: Tokens(access: "a0", refresh: "r0", expiresAt: AuthRig.epoch + 2000)))
        #expect(rig.auth.idleDue(rig.instant) == Rig.instant(1940))
        rig.hasTime = false
        #expect(rig.auth.idleDue(rig.instant) == nil)
        rig.hasTime = true
        rig.now = 1940
        rig.exchange(200, #"{"access_token":"a1","expires_in":10}"#)
        // Not more than once a minute, however short the life.
        #expect(rig.auth.idleDue(rig.instant) == Rig.instant(2000))
        rig.exchange(503, retryAfter: 500)
        #expect(rig.auth.idleDue(rig.instant) == Rig.instant(2440))
        // Not at the very moment of the start, when a whole fleet may be powered up.
        let expired = AuthRig(.usual(seed: Tokens(access: "a0", refresh: "r0", expiresAt: AuthRig.epoch)))
        let due = try #require(expired.auth.idleDue(expired.instant))
        #expect((0...10).contains(due.seconds(since: Rig.instant(1000))))
        #expect(AuthRig(.usual()).auth.idleDue(AuthRig(.usual()).instant) == nil)
    }
}
