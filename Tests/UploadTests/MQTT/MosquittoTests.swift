import Base
import CCrypto
import Glibc
import Linux
import Support
import Testing

@testable import DaemonConfiguration
@testable import Upload

/// Certificates of an authority of one's own, for this host and for a client.
func makeCertificates(in directory: TemporaryDirectory) throws {
    let file = directory.file
    func make(_ name: String, _ words: [String]) throws {
        try run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2",
                "-keyout", file(name + ".key"), "-out", file(name + ".pem"), "-subj", "/CN=" + name,
            ] + words, in: directory)
    }
    let signed = ["-CA", file("authority.pem"), "-CAkey", file("authority.key")]
    try make("authority", [])
    try make(
        "server",
        signed + [
            "-addext", "subjectAltName=IP:127.0.0.1,DNS:broker.invalid", "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
    try make("client", signed + ["-addext", "basicConstraints=critical,CA:FALSE"])
}

@Suite("publishing to mosquitto")
struct MosquittoTests {
    @Test("what is acknowledged has arrived; what nobody subscribes to has not")
    func arrives() throws {
        let broker = try Broker()
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(16))
        let subscriber = try Subscriber(broker)
        #expect(try client.ask("2", broker.options()) == puback(0))
        #expect(try client.ask("3", broker.options()) == puback(0))
        client.disconnect()
        #expect(subscriber.hears(publication("3").message))
        #expect(subscriber.heard.map { String(decoding: $0.payload, as: UTF8.self) } == ["2", "3"])
    }

    @Test("a message comes back to whoever tests the destination")
    func echo() throws {
        let broker = try Broker()
        var client = try mqttClient()
        let outcome = client.publish(
            publication("1", expectsEcho: true), broker.options(), wakeup: try Wakeup()
        ) { false }
        #expect(outcome == puback(0, echo: .received))
        client.disconnect()
    }

    @Test("a client that only logs in publishes nothing")
    func greeting() throws {
        let broker = try Broker()
        let subscriber = try Subscriber(broker)
        var client = try mqttClient()
        let outcome = client.publish(.nothing, broker.options(), wakeup: try Wakeup()) { false }
        guard case .answer(let answer) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(answer.source == .connack && answer.code == 0)
        #expect(try client.ask("1", broker.options()) == puback(0))
        client.disconnect()
        #expect(subscriber.hears(publication("1").message))
        #expect(subscriber.heard.count == 1)
    }

    @Test("the will is published when the client vanishes, and not when it leaves")
    func will() throws {
        let broker = try Broker()
        let subscriber = try Subscriber(broker)
        let will = OwnTracksMQTT.will(topic: "owntracks/u/d", at: Timestamp(milliseconds: 1000))
        var options = broker.options()
        options.will = will
        do {
            var client = try mqttClient()
            #expect(try client.ask("1", options) == puback(0))
            client.disconnect()
        }
        do {
            var client = try mqttClient()
            #expect(try client.ask("2", options) == puback(0))
        }
        #expect(subscriber.hears(will))
        #expect(subscriber.heard.map(\.payload) == [Array("1".utf8), Array("2".utf8), will.payload])
    }

    /// With passwords; `u` may write below owntracks/u only, and read nothing.
    private static func guarded() throws -> Broker {
        let directory = try TemporaryDirectory()
        for name in ["u", "all"] {
            try run(
                ["mosquitto_passwd"] + (name == "u" ? ["-c"] : []) + [
                    "-b", directory.file("passwords"), name, "secret",
                ], in: directory)
        }
        return try Broker(
            ["password_file {}/passwords", "acl_file {}/access"],
            files: ["access": "user u\ntopic write owntracks/u/#\nuser all\ntopic read #\n"], in: directory)
    }

    @Test("what an access list denies is refused, which 3.1.1 does not say")
    func denied() throws {
        let broker = try Self.guarded()
        let subscriber = try Subscriber(broker, username: "all", password: "secret")
        let options = broker.options(username: "u", password: "secret")
        var client = try mqttClient()
        #expect(try client.ask("1", options, topic: "owntracks/u/d") == puback(0))
        #expect(try client.ask("2", options, topic: "owntracks/x/d") == puback(135))
        client.disconnect()
        var old = try mqttClient(speaking: .v311)
        #expect(try old.ask("4", options, topic: "owntracks/x/d") == puback(0, .v311))
        #expect(try old.ask("5", options, topic: "owntracks/u/d") == puback(0, .v311))
        old.disconnect()
        #expect(subscriber.hears(publication("5").message))
        #expect(subscriber.heard.map { String(decoding: $0.payload, as: UTF8.self) } == ["1", "5"])
    }

    @Test("a wrong password, and none, are refused at the door", arguments: [MQTTVersion.v5, .v311])
    func unauthorised(version: MQTTVersion) throws {
        let broker = try Self.guarded()
        for options in [broker.options(username: "u", password: "wrong"), broker.options()] {
            var client = try mqttClient(speaking: version)
            guard case .answer(let answer) = try client.ask("1", options) else {
                Issue.record("there is no answer")
                continue
            }
            #expect(answer.source == .connack)
            #expect(OwnTracksMQTT.judge(answer, acceptsUnsubscribed: false).verdict == .unauthorised)
        }
    }

    @Test("messages that are too long are refused: not sent, or sent and refused")
    func tooLong() throws {
        let long = String(repeating: "x", count: 1000)
        let announced = try Broker(["allow_anonymous true", "max_packet_size 500"])
        let subscriber = try Subscriber(announced)
        var client = try mqttClient()
        let refused = MQTTAnswer(source: .client, code: 149, version: .v5)
        #expect(try client.ask(long, announced.options()) == .answer(refused))
        #expect(try client.ask("1", announced.options()) == puback(0), "the connection serves on")
        client.disconnect()
        #expect(subscriber.hears(publication("1").message))
        #expect(subscriber.heard.count == 1)
        let secretive = try Broker(["allow_anonymous true", "message_size_limit 500"])
        var other = try mqttClient()
        guard case .answer(let answer) = try other.ask(long, secretive.options()) else {
            Issue.record("there is no answer")
            return
        }
        #expect(answer.code == 149)
        #expect(OwnTracksMQTT.judge(answer, acceptsUnsubscribed: true).verdict == .permanent)
        other.disconnect()
    }

    /// With TLS.
    ///
    /// - Parameter isMutual: a certificate is demanded of the client.
    private static func secured(isMutual: Bool = true) throws -> Broker {
        let directory = try TemporaryDirectory()
        try makeCertificates(in: directory)
        return try Broker(
            [
                "allow_anonymous true", "cafile {}/authority.pem", "certfile {}/server.pem",
                "keyfile {}/server.key",
                "require_certificate \(isMutual)",
            ], in: directory)
    }

    private static func securedOptions(_ broker: Broker) -> MQTTOptions {
        var options = broker.options("mqtts")
        options.caFile = broker.directory.file("authority.pem")
        options.clientCertificate = broker.directory.file("client.pem")
        options.clientKey = broker.directory.file("client.key")
        return options
    }

    @Test("TLS, with a certificate on both sides, and through a proxy", arguments: [false, true])
    func tls(isProxied: Bool) throws {
        let broker = try Self.secured()
        var options = Self.securedOptions(broker)
        let relay = try Relay(to: broker.port)
        let proxy = try Relay(to: broker.port, isProxy: true)
        if isProxied {
            options.proxy = "http://127.0.0.1:\(proxy.port)"
            // Known to the proxy alone.
            options.url = "mqtts://broker.invalid:\(broker.port)"
        } else {
            options.url = "mqtts://127.0.0.1:\(relay.port)"
        }
        var client = try mqttClient()
        // Longer than a TLS record.
        let long = String(repeating: "x", count: 40_000)
        #expect(try client.ask(long, options) == puback(16))
        client.disconnect()
        #expect((isProxied ? proxy : relay).connections == 1)
    }

    @Test("an authority that is not known, a certificate that is missing, and another host's are failures")
    func tlsRefused() throws {
        let broker = try Self.secured()
        var client = try mqttClient()
        var unknown = Self.securedOptions(broker)
        unknown.caFile = nil
        var nameless = Self.securedOptions(broker)
        (nameless.clientCertificate, nameless.clientKey) = (nil, nil)
        var elsewhere = Self.securedOptions(broker)
        elsewhere.url = "mqtts://localhost:\(broker.port)"
        for options in [unknown, nameless, elsewhere] {
            guard case .failure(let failure) = try client.ask("1", options) else {
                Issue.record("it is believed")
                continue
            }
            #expect(!failure.wasSent && !failure.isTimeout)
        }
        #expect(try client.ask("1", Self.securedOptions(broker)) == puback(16))
        client.disconnect()
    }

    @Test("a link that dies without a word leaves the message in doubt, in bounded time")
    func halfOpen() throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        var options = broker.options()
        options.url = "mqtt://127.0.0.1:\(relay.port)"
        var client = try mqttClient()
        #expect(try client.ask("1", options) == puback(16))
        relay.mute()
        options.timeout = 0.4
        guard case .failure(let failure) = try client.ask("2", options) else {
            Issue.record("it is believed")
            return
        }
        #expect(failure.wasSent && failure.isTimeout)
        #expect(relay.isAtRest())
    }

    /// Publishes one message on a connection of its own.
    ///
    /// - Returns: the bytes that have passed.
    private static func drain(
        _ client: inout MQTTClient, _ relay: Relay, _ options: MQTTOptions, isResuming: Bool = true
    ) throws -> Int {
        let before = relay.bytes
        let outcome = client.publish(
            publication("1"), options, wakeup: try Wakeup(),
            resumingAt: isResuming ? BootInstant(nanoseconds: Clock.boot()) : nil
        ) { false }
        #expect(outcome == puback(16))
        client.disconnect()
        #expect(relay.isAtRest())
        return relay.bytes - before
    }

    @Test(
        "a TLS session is resumed by the next connection, and forgotten with the credentials",
        arguments: [false, true])
    func resumed(isMutual: Bool) throws {
        let broker = try Self.secured(isMutual: isMutual)
        let relay = try Relay(to: broker.port)
        var options = Self.securedOptions(broker)
        if !isMutual { (options.clientCertificate, options.clientKey) = (nil, nil) }
        options.url = "mqtts://127.0.0.1:\(relay.port)"
        var client = try mqttClient()
        let full = try Self.drain(&client, relay, options)
        for _ in 0..<3 { #expect(try Self.drain(&client, relay, options) < full - 300) }
        client.forgetSessions()
        #expect(try Self.drain(&client, relay, options) > full - 100, "other credentials")
        #expect(try Self.drain(&client, relay, options) < full - 300)
        options.username = "u"
        #expect(try Self.drain(&client, relay, options) > full - 100, "another login")
        #expect(try Self.drain(&client, relay, options) < full - 300)
        #expect(try Self.drain(&client, relay, options, isResuming: false) > full - 100, "none is wanted")
    }

    @Test("a failed handshake forgets the session")
    func forgotten() throws {
        let broker = try Self.secured(isMutual: false)
        let relay = try Relay(to: broker.port)
        var options = Self.securedOptions(broker)
        (options.clientCertificate, options.clientKey) = (nil, nil)
        options.url = "mqtts://127.0.0.1:\(relay.port)"
        var client = try mqttClient()
        let full = try Self.drain(&client, relay, options)
        #expect(try Self.drain(&client, relay, options) < full - 300)
        func fails() throws {
            let outcome = client.publish(
                publication("1"), options, wakeup: try Wakeup(),
                resumingAt: BootInstant(nanoseconds: Clock.boot())
            ) { false }
            guard case .failure(let failure) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(!failure.wasSent)
        }
        // The relay accepts and finds nobody, so the connection ends within the handshake.
        broker.kill()
        try fails()
        try broker.start()
        #expect(try Self.drain(&client, relay, options) > full - 100)
        #expect(try Self.drain(&client, relay, options) < full - 300)
    }

    @Test("the test of a destination: its own message, and what is wrong when it does not come back")
    func echoOfDestination() throws {
        let broker = try Self.guarded()
        var sync = Settings.Sync()
        sync.url = "mqtt://127.0.0.1:\(broker.port)"
        func find(_ user: String, _ password: String, topic: String) throws -> MQTTEcho.Finding {
            sync.format = .owntracks(
                Settings.OwnTracks(
                    deviceID: "d", username: Secret(user), password: Secret(password), mqtt: Settings.MQTT()))
            let request = Request(format: .owntracks, topic: topic, body: Array("{}".utf8))
            return try #require(
                MQTTEcho.run(
                    request, to: sync, installID: "i", destination: "home",
                    at: Timestamp(milliseconds: 0), wakeup: try Wakeup()
                ) { false })
        }
        // May write, and read nothing.
        let written = try find("u", "secret", topic: "owntracks/u/d")
        #expect(written.verdict == .accepted && !written.hasReturned && written.advice != nil)
        let denied = try find("u", "secret", topic: "owntracks/x/d")
        #expect(denied.verdict == .unauthorised && denied.advice?.contains("access list") == true)
        let stranger = try find("u", "wrong", topic: "owntracks/u/d")
        #expect(stranger.verdict == .unauthorised && stranger.advice?.contains("password") == true)
        broker.kill()
        let gone = try find("u", "secret", topic: "owntracks/u/d")
        #expect(gone.verdict == nil && !gone.hasReturned && !gone.words.isEmpty)
        let open = try Broker()
        sync.url = "mqtt://127.0.0.1:\(open.port)"
        let heard = try find("u", "secret", topic: "owntracks/u/d")
        #expect(heard.verdict == .accepted && heard.hasReturned && heard.advice == nil)
        sync.url = "https://127.0.0.1"
        sync.format = .beekon(Settings.Beekon())
        let request = Request(format: .owntracks, body: [])
        #expect(
            MQTTEcho.run(
                request, to: sync, installID: "i", destination: "home", at: Timestamp(milliseconds: 0),
                wakeup: try Wakeup()
            ) { false } == nil)
    }

    @Test("ten messages over TLS cost no more bytes than they must")
    func bytes() throws {
        let broker = try Self.secured(isMutual: false)
        let relay = try Relay(to: broker.port)
        var options = Self.securedOptions(broker)
        (options.clientCertificate, options.clientKey) = (nil, nil)
        options.url = "mqtts://127.0.0.1:\(relay.port)"
        options.will = OwnTracksMQTT.will(
            topic: "owntracks/beekon/van", at: Timestamp(milliseconds: 1_781_000_000_000))
        let location = #"""
            {"_type":"location","lat":52.516275,"lon":13.377704,"tst":1781000000,"acc":4,"alt":35,"vel":48,"cog":271,\#
            "tid":"an","t":"t","topic":"owntracks/beekon/van","_id":"019eb0aa-7c00-7000-8000-000000000000","created_at":1781000000}
            """#
        var client = try mqttClient()
        // Ten times about 360 for message and answer, and a handshake: in full, then a resumed one. From 3.5 on OpenSSL
        // exchanges keys with ML-KEM-768 as well: 1,184 bytes there and 1,088 back.
        let keys = OpenSSL_version_num() >= 0x3050_0000 ? 1184 + 1088 + 28 : 0
        for limit in [6000 + keys, 4800 + keys] {
            let before = relay.bytes
            for _ in 0..<10 {
                let outcome = client.publish(
                    publication(location, topic: "owntracks/beekon/van"), options, wakeup: try Wakeup(),
                    resumingAt: BootInstant(nanoseconds: Clock.boot())
                ) { false }
                #expect(outcome == puback(16))
            }
            client.disconnect()
            #expect(relay.isAtRest())
            #expect(relay.bytes - before < limit)
        }
    }
}
