import Testing

@testable import Upload

@Suite("the token of an upload")
struct AuthenticatorTests {
    @Test("is attached as configured")
    func attached() {
        #expect(AuthRig(.usual()).auth.authorization == "Bearer a0")
        #expect(AuthRig(.usual(isRaw: true)).auth.authorization == "a0")
        #expect(AuthRig(nil).auth.authorization == nil)
        #expect(!AuthRig(nil).auth.isActive)
        // An empty table has nothing to offer: static headers stay as they are.
        #expect(!AuthRig(.usual(seed: Tokens(), hasEndpoint: false)).auth.isActive)
    }

    @Test(
        "is refreshed before its expiry by the margin",
        arguments: [
            (expiresIn: 61.0, skew: 60.0, need: Authenticator.Need.nothing), (60, 60, .refresh),
            (0, 60, .refresh), (-100, 60, .refresh), (1, 0, .nothing), (0, 0, .refresh),
        ])
    func margin(expiresIn: Double, skew: Double, need: Authenticator.Need) {
        let expiry = AuthRig.epoch + 1000 + Int64(expiresIn)
        let rig = AuthRig(.usual(seed: Tokens(access: "a0", refresh: "r0", expiresAt: expiry), skew: skew))
        #expect(rig.need() == need)
        // No clock, no age.
        rig.hasTime = false
        #expect(rig.need() == .nothing)
    }

    @Test("without an expiry is refreshed when it is refused, and only then")
    func reactive() {
        let rig = AuthRig(.usual())
        #expect(rig.need() == .nothing)
        rig.now += 1e8
        #expect(rig.need() == .nothing)
        #expect(rig.refused() == .refresh)
        #expect(rig.exchange(200, #"{"access_token":"a1"}"#) == .renewed)
        #expect(rig.auth.authorization == "Bearer a1")
        #expect(rig.auth.record.tokens.refresh == "r0")
        #expect(rig.need() == .nothing)
    }

    @Test("that is new already is not refreshed for the refusal of the old one")
    func seededMeanwhile() {
        let rig = AuthRig(.usual())
        let sent = rig.auth.authorization
        #expect(rig.seed(Tokens(access: "b")))
        let need = rig.auth.need(afterRefusalOf: sent, rig.instant, isForced: false)
        #expect(need == .nothing)
    }

    @Test("is fetched first when there is none")
    func refreshFirst() {
        let rig = AuthRig(.usual(seed: Tokens(refresh: "r0")))
        #expect(rig.state.word == .expiring)
        #expect(rig.need() == .refresh)
        rig.exchange(200, #"{"token":"a1","expires_in":3600}"#)
        #expect(rig.need() == .nothing)
        #expect(rig.state.word == .valid)
    }

    @Test("that nothing can refresh is dead when refused, until it works")
    func seedOnly() {
        let rig = AuthRig(.usual(hasEndpoint: false))
        #expect(rig.refused() == .dead)
        #expect(rig.state.death == .noRefresh)
        #expect(rig.need() == .nothing)
        rig.auth.worked("Bearer other")
        #expect(rig.state.word == .dead)
        rig.auth.worked("Bearer a0")
        #expect(rig.state.word == .valid)
        // A refresh token without an endpoint, an endpoint without anything to ask with.
        for plan in [
            AuthPlan.usual(seed: Tokens(refresh: "r"), hasEndpoint: false), .usual(seed: Tokens()),
            .usual(seed: Tokens(access: nil, refresh: nil), payload: []),
        ] {
            let rig = AuthRig(plan)
            guard rig.auth.isActive else { continue }
            #expect(rig.need() == .dead)
            #expect(rig.state.death == .noRefresh)
        }
    }

    @Test(
        "lives as long as the answer says, by boot time",
        arguments: [
            // The body, the seconds that it is good for, and those before its end at which it is refreshed.
            (body: #""expires_in":3600"#, life: 3600.0, margin: 60.0), (#""expiresIn":"3600""#, 3600, 60),
            (#""expires_in":10"#, 10, 5), (#""expires_in":1e99"#, 315_360_000, 60),
            (#""expires_at":1800004600"#, 3600, 60), (#""expires_at":"1800004600000""#, 3600, 60),
            (#""expiresAt":"2027-01-15T09:16:40Z""#, 3600, 60),
        ])
    func life(body: String, life: Double, margin: Double) {
        let rig = AuthRig(.usual())
        rig.exchange(200, #"{"access_token":"a1","# + body + "}")
        rig.now += life - margin - 1
        #expect(rig.need() == .nothing)
        // A clock that jumps, or is in doubt, changes nothing.
        for step in [-86_400, 86_400] as [Int64] {
            rig.step = step
            #expect(rig.need() == .nothing)
        }
        rig.hasTime = false
        #expect(rig.need() == .nothing)
        rig.now += 2
        for step in [-86_400, 86_400] as [Int64] {
            rig.step = step
            #expect(rig.need() == .refresh)
            rig.hasTime = true
        }
    }

    @Test(
        "without a believable expiry lives until it is refused",
        arguments: [
            #""expires_in":0"#, #""expires_in":-5"#, #""expires_in":null"#, #""expires_in":"soon""#,
            #""expires_in":[]"#, #""expires_at":1"#, #""expires_at":-1"#, #""expires_at":1e40"#,
            #""expires_at":"yesterday""#, #""expires_in":"nan""#, #""expires_in":"inf""#,
            #""expires_at":true"#,
        ])
    func unbelievable(body: String) {
        let rig = AuthRig(.usual())
        #expect(rig.exchange(200, #"{"access_token":"a1","# + body + "}") == .renewed)
        #expect(rig.state.expiresAt == nil)
        for _ in 0..<9 {
            rig.now += 1e8
            #expect(rig.need() == .nothing)
        }
        #expect(rig.auth.idleDue(rig.instant) == nil)
    }

    @Test("keeps its expiry over a restart, and without a clock then no expiry is made up")
    func expiryOverRestart() {
        let rig = AuthRig(.usual())
        rig.exchange(200, #"{"access_token":"a1","expires_in":3600}"#)
        var next = rig.restarted(.usual())
        #expect(next.need() == .nothing)
        next.now += 3600
        #expect(next.need() == .refresh)
        rig.hasTime = false
        rig.exchange(200, #"{"access_token":"a2","expires_in":3600}"#)
        #expect(rig.auth.record.tokens.expiresAt == nil)
        next = rig.restarted(.usual(), after: 1e7, hasTime: true)
        #expect(next.need() == .nothing)
    }
}

@Suite("the seed of the token")
struct SeedTests {
    @Test("is adopted when nothing is stored, when it differs, and when its epoch grew")
    func adoption() {
        let rig = AuthRig(.usual())
        rig.exchange(200, #"{"access_token":"a1","refresh_token":"r1"}"#)
        var next = rig.restarted(.usual())
        #expect(next.auth.authorization == "Bearer a1")
        next = next.restarted(.usual(seed: Tokens(access: "b0", refresh: "r0")))
        #expect(next.auth.authorization == "Bearer b0")
        // The older one again is another one than the last.
        next = next.restarted(.usual())
        #expect(next.auth.authorization == "Bearer a0")
        next.exchange(200, #"{"access_token":"a2"}"#)
        next = next.restarted(.usual(epoch: 2))
        #expect(next.auth.authorization == "Bearer a0")
        next.exchange(200, #"{"access_token":"a3"}"#)
        next = next.restarted(.usual(epoch: 1))
        #expect(next.auth.authorization == "Bearer a3")
        // Taken out of the file, it changes nothing; nor when it comes back.
        next = next.restarted(.usual(seed: Tokens())).restarted(.usual(epoch: 2))
        #expect(next.auth.authorization == "Bearer a3")
    }

    @Test("a new expiry makes another one")
    func digest() {
        let digests = [
            Tokens(), Tokens(access: "a"), Tokens(refresh: "a"), Tokens(access: "a", refresh: "b"),
            Tokens(access: "a", expiresAt: 5), Tokens(access: "a,1:b"), Tokens(access: ""),
        ].map(\.digest)
        #expect(Set(digests).count == digests.count)
        #expect(digests.allSatisfy { $0.count == 64 })
    }

    @Test("given by an administrator stays, whatever the file says, until the file changes")
    func given() {
        let rig = AuthRig(.usual())
        rig.exchange(400)
        #expect(rig.state.word == .dead)
        #expect(rig.seed(Tokens(access: "x", refresh: "y")))
        #expect(rig.state.word == .valid)
        #expect(rig.restarted(.usual()).auth.authorization == "Bearer x")
        #expect(rig.restarted(.usual(seed: Tokens())).auth.authorization == "Bearer x")
        #expect(rig.restarted(.usual(seed: Tokens(access: "c"))).auth.authorization == "Bearer c")
        let none = AuthRig(nil)
        #expect(!none.seed(Tokens(access: "x")))
    }

    @Test("an epoch without tokens revives what there is")
    func epochAlone() {
        let rig = AuthRig(.usual(seed: Tokens()))
        #expect(rig.seed(Tokens(access: "x", refresh: "y")))
        rig.exchange(400)
        let next = rig.restarted(.usual(seed: Tokens(), epoch: 1))
        #expect(next.state.word == .valid)
        #expect(next.auth.authorization == "Bearer x")
    }

    @Test("tokens are for one host of each kind")
    func hosts() {
        let rig = AuthRig(.usual())
        for plan in [AuthPlan.usual(host: "other.example"), .usual(refreshHost: "other.example")] {
            let next = rig.restarted(plan)
            #expect(next.auth.authorization == nil)
            #expect(next.auth.record.tokens.isEmpty && next.auth.record.previous == nil)
            #expect(next.state.death == .hostChanged)
            #expect(next.need() == .dead)
            #expect(next.begin() == nil)
            // Coming back does not bring them back.
            #expect(next.restarted(.usual()).auth.authorization == nil)
            // New ones are for the new host.
            #expect(next.seed(Tokens(access: "n")))
            #expect(next.restarted(plan).auth.authorization == "Bearer n")
            var fresh = plan
            fresh.seed.access = "edited"
            #expect(rig.restarted(fresh).auth.authorization == "Bearer edited")
        }
        // Without an endpoint for a while: the tokens go nowhere new.
        let without = rig.restarted(.usual(hasEndpoint: false))
        #expect(without.auth.authorization == "Bearer a0")
        #expect(without.restarted(.usual()).auth.authorization == "Bearer a0")
        #expect(without.restarted(.usual(refreshHost: "evil.example")).auth.authorization == nil)
        // A first endpoint is one that the tokens have not been for.
        let first = AuthRig(.usual(hasEndpoint: false)).restarted(.usual())
        #expect(first.auth.authorization == nil)
    }

    @Test(
        "another scheme or port is another origin, and so is a proxy that sees them",
        arguments: [
            AuthPlan.usual(port: 8443), .usual(scheme: "http", port: 443), .usual(refreshPort: 8443),
            .usual(scheme: "http", port: 80, proxy: "http://thief.example:3128"),
        ])
    func origins(plan: AuthPlan) {
        let first =
            plan.uploadOrigin.proxy == nil ? AuthPlan.usual() : .usual(scheme: "http", port: 80)
        let next = AuthRig(first).restarted(plan)
        #expect(next.auth.authorization == nil)
        #expect(next.state.death == .hostChanged)
    }

    @Test("a proxy that sees nothing, or is left out, changes nothing")
    func proxies() {
        let sealed = AuthRig(.usual()).restarted(.usual(proxy: "http://p.example:3128"))
        #expect(sealed.auth.authorization == "Bearer a0")
        let plan = AuthPlan.usual(scheme: "http", port: 80, proxy: "http://p.example:3128")
        let direct = AuthRig(plan).restarted(.usual(scheme: "http", port: 80))
        #expect(direct.auth.authorization == "Bearer a0")
        #expect(direct.restarted(plan).auth.authorization == "Bearer a0")
    }

    @Test(
        "tokens of which an earlier version knew only the hosts stay with them, by https",
        arguments: [443, 8443])
    func hostsOnly(port: Int) throws {
        var old = AuthRig(.usual()).auth.record
        (old.uploadOrigin, old.uploadHost) = (nil, "up.example")
        (old.refreshOrigin, old.refreshHost) = (nil, "id.example")
        let plan = AuthPlan.usual(port: port)
        let rig = AuthRig(nil, record: old)
        rig.auth.configure(plan)
        #expect(rig.auth.authorization == "Bearer a0" && !rig.auth.isSaved)
        // Once and for all: from then on they are for this port.
        #expect(rig.restarted(plan).auth.authorization == "Bearer a0")
        #expect(rig.restarted(.usual(port: 4444)).auth.authorization == nil)
        for other in [
            AuthPlan.usual(host: "other.example"), .usual(refreshHost: "other.example"),
            .usual(scheme: "http", port: 80),
        ] {
            #expect(AuthRig(other, record: old).auth.authorization == nil)
        }
    }

    @Test("nothing is taken up over a record that cannot be read")
    func locked() {
        let rig = AuthRig(nil)
        rig.auth.lock()
        rig.auth.configure(.usual(epoch: 9))
        #expect(rig.auth.isSaved && rig.auth.isActive)
        #expect(rig.need() == .dead)
        #expect(rig.state.death == .key)
        #expect(rig.begin() == nil)
        #expect(rig.auth.idleDue(rig.instant) == nil)
        #expect(rig.seed(Tokens(access: "x")))
        #expect(rig.auth.authorization == "Bearer x" && rig.state.word == .valid)
    }
}
