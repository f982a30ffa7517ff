import Base
import Linux
import Support
import Synchronization
import Testing

@testable import DaemonConfiguration
@testable import Upload

@Suite("carrying a request wherever the url says")
struct CarrierTests {
    private static let request = OwnTracksFormat(user: "u", deviceID: "d")
        .request(FormatSamples.location(), sentAt: FormatSamples.sentAt)

    private func sync(_ url: String, isMQTT: Bool = true, keeps: Bool = false) -> Settings.Sync {
        var mqtt = Settings.MQTT()
        mqtt.keepConnection = keeps
        var sync = Settings.Sync()
        sync.url = url
        sync.format = .owntracks(
            Settings.OwnTracks(
                deviceID: "d", username: Secret("u"), password: nil, mqtt: isMQTT ? mqtt : nil))
        return sync
    }

    private func carry(
        _ carrier: inout Carrier, _ request: Request = request, to sync: Settings.Sync
    ) throws -> Delivery {
        let wakeup = try Wakeup()
        carrier.begin(
            request, of: FormatSamples.id, to: sync, authorization: nil, at: FormatSamples.time,
            now: BootInstant(nanoseconds: Clock.boot()))
        while true {
            if case .ended(let delivery) = carrier.advance(wakeup: wakeup) { return delivery }
        }
    }

    @Test("over MQTT, over HTTP, and over MQTT again; a connection lasts no longer than it is to")
    func both() throws {
        let broker = try Broker()
        let subscriber = try Subscriber(broker)
        let server = try RawServer { link in
            guard link.head() != nil else { return }
            link.send("HTTP/1.1 204 No Content\r\n\r\n")
            link.drain()
        }
        let url = "mqtt://127.0.0.1:\(broker.port)"
        var carrier = Carrier(try httpClient(), version: "1", installID: "i", destination: "main")
        #expect(isTended(&carrier) == false)
        #expect(carrier.tend() == nil)
        let delivery = try carry(&carrier, to: sync(url))
        #expect(delivery == Delivery(puback(0)))
        guard case .answer(let reply) = delivery else { return }
        let judgement = reply.judged(
            as: .owntracks, of: FormatSamples.id, by: sync(url), at: FormatSamples.time)
        #expect(judgement.verdict == .accepted && judgement.broker?.code == 0)
        #expect(subscriber.hears(MQTTMessage(topic: "owntracks/u/d", payload: Self.request.body)))
        carrier.pause(sync(url))
        #expect(isTended(&carrier) == false)
        guard
            case .answer(.http(let answer)) = try carry(
                &carrier, to: sync("http://127.0.0.1:\(server.port)/pub", isMQTT: false))
        else {
            Issue.record("the server has not answered")
            return
        }
        #expect(answer.status == 204)
        #expect(try carry(&carrier, to: sync(url, keeps: true)) == Delivery(puback(0)))
        carrier.pause(sync(url, keeps: true))
        #expect(isTended(&carrier) == true)
        #expect(carrier.tend() == nil)
        // Another network, perhaps.
        carrier.networkReturned()
        #expect(isTended(&carrier) == false)
        #expect(try carry(&carrier, to: sync(url, keeps: true)) == Delivery(puback(0)))
        carrier.pause(nil)
        #expect(isTended(&carrier) == false)
    }

    /// What a server does with a connection: refuses before it has read the request, says nothing, or answers.
    private enum Deed: Sendable { case early, silent, good }

    @Test(
        "a refusal that came too early counts together with those right before it, not across a failure or a break"
    )
    func earlyRefusals() throws {
        let deeds: [Deed] = [.early, .early, .silent, .early, .early, .good, .early, .early, .early]
        let next = Mutex(0)
        let server = try RawServer { link in
            let index = next.withLock { count in
                defer { count += 1 }
                return count
            }
            guard link.head() != nil, index < deeds.count else { return }
            switch deeds[index] {
            case .early: link.send("HTTP/1.1 400 Early\r\nContent-Length: 0\r\n\r\n")
            case .silent: return
            case .good:
                _ = link.take(Self.large.count)
                link.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            }
            link.finish()
            link.drain()
        }
        var carrier = Carrier(try httpClient(), version: "1", installID: "i", destination: "main")
        let request = Request(format: .beekon, body: Self.large)
        var sync = Settings.Sync()
        sync.url = server.url
        let seen = try deeds.map { deed in
            let delivery = try carry(&carrier, request, to: sync)
            if deed != .early { carrier.disconnect() }
            return switch delivery {
            case .unmatched: "stray"
            case .answer(.http(let answer)): "\(answer.status)"
            default: "failed"
            }
        }
        #expect(
            seen == ["stray", "stray", "failed", "stray", "stray", "503", "stray", "stray", "400"], "\(seen)")
    }

    /// More than the kernel takes at once.
    private static let large = [UInt8](repeating: 0x78, count: 8 << 20)

    @Test("a message without a topic is refused, and not sent")
    func noTopic() throws {
        let broker = try Broker()
        var carrier = Carrier(try httpClient(), version: "1", installID: "i", destination: "main")
        let wakeup = try Wakeup()
        carrier.begin(
            Request(format: .owntracks, body: [1]), of: FormatSamples.id,
            to: sync("mqtt://127.0.0.1:\(broker.port)"),
            authorization: nil, at: FormatSamples.time, now: BootInstant(nanoseconds: Clock.boot()))
        var progress = Carrier.Progress.underway
        while progress == .underway { progress = carrier.advance(wakeup: wakeup) }
        guard case .ended(.answer(.mqtt(let answer))) = progress else {
            Issue.record("\(progress)")
            return
        }
        #expect(OwnTracksMQTT.judge(answer, acceptsUnsubscribed: true).verdict == .permanent)
        carrier.disconnect()
    }
}
