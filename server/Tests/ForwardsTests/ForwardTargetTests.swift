import Base
import ServerStore
import Testing

@testable import Forwards

@Suite("targets of forwarding") struct ForwardTargetTests {
    private func target(_ change: (inout ForwardTarget.Draft) -> Void) throws -> ForwardTarget {
        var draft = ForwardTarget.Draft()
        (draft.name, draft.url) = ("there", "https://example.org/v1/batches")
        change(&draft)
        return try ForwardTarget(draft)
    }

    @Test(
        "what can be",
        arguments: [
            ("https://example.org/v1/batches?from={device}", ForwardTarget.Kind.web),
            ("http://127.0.0.1:8080/", .web),
            ("nats://localhost:4222", .nats(subject: "beekon.batches.{device_id}")),
            ("tls://a.example.org,tls://b.example.org:4222", .nats(subject: "beekon.batches.{device_id}")),
            ("mqtt://[::1]:1884", .mqtt(topic: "beekon/batches/{device_id}")),
            ("mqtts://broker.example.org", .mqtt(topic: "beekon/batches/{device_id}")),
        ])
    func kinds(_ url: String, _ kind: ForwardTarget.Kind) throws {
        let target = try target { $0.url = url }
        #expect(target.kind == kind)
        #expect(target.maxAgeDays == 7 && target.maxBytes == 1_000_000_000)
    }

    @Test(
        "what cannot be is told by the setting",
        arguments: [
            ("name", ["name": ""]), ("name", ["name": "a b"]), ("url", ["url": "ftp://example.org"]),
            ("url", ["url": "https:///x"]), ("url", ["url": "https://me:secret@example.org"]),
            ("url", ["url": "http://example.org"]), ("url", ["url": "nats://10.0.0.1"]),
            ("url", ["url": "https://a.org,https://b.org"]), ("url", ["url": "https://a.org/{vehicle}"]),
            ("url", ["url": "mqtts://a.org/topic"]), ("url", ["url": "mqtts://a.org:0"]),
            ("subject", ["subject": "a"]), ("topic", ["topic": "a"]), ("user", ["user": "a"]),
            ("subject", ["url": "tls://a.org", "subject": "a..b"]),
            ("subject", ["url": "tls://a.org", "subject": "a.>"]),
            ("subject", ["url": "tls://a.org", "subject": "$JS.API"]),
            ("topic", ["url": "mqtts://a.org", "topic": "a/#"]),
            ("user", ["url": "tls://a.org", "user": "a"]),
            ("token_file", ["url": "tls://a.org", "token_file": "a", "credentials_file": "b"]),
            ("token_file", ["url": "mqtts://a.org", "token_file": "a"]),
        ] as [(String, [String: String])])
    func refusals(_ setting: String, _ values: [String: String]) throws {
        let error = #expect(throws: ForwardTarget.Invalid.self) {
            try target { draft in
                draft.name = values["name"] ?? draft.name
                draft.url = values["url"] ?? draft.url
                (draft.subject, draft.topic) = (values["subject"], values["topic"])
                (draft.user, draft.passwordFile) = (values["user"], values["password_file"])
                (draft.tokenFile, draft.credentialsFile) = (values["token_file"], values["credentials_file"])
            }
        }
        #expect(error?.setting == setting, "\(error?.reason ?? "")")
    }

    @Test("names of vehicles can be in addresses, subjects and topics, and leave no folder") func places()
        throws
    {
        let parcel = Outbox.Parcel(
            key: Outbox.Key(device: 17, number: 1), id: "x", deviceName: "Hof Süd.>+#*", body: [],
            isPacked: false, rows: 1)
        #expect(
            ForwardTarget.fill("a.{device}.{device_id}", parcel) == "a.Hof%20S%C3%BCd%2E%3E%2B%23%2A.17")
        #expect(ForwardTarget.fill("/t/{device}", parcel, isPath: true) == "/t/Hof Süd.>+#*")
    }

    @Test("how much of what may wait does") func share() throws {
        let target = try target { ($0.maxAgeDays, $0.maxBytes) = (2, 1_000_000) }
        var facts = Outbox.Facts()
        facts.size = 250_000
        facts.since = Timestamp(milliseconds: 1_781_000_000_000)
        let later = facts.since?.advanced(bySeconds: 86_400)
        #expect(target.percent(of: facts, age: nil, retention: nil) == 25)
        #expect(target.percent(of: facts, age: later, retention: nil) == 50)
        // What tells of a place is not kept for longer than the place.
        #expect(target.percent(of: facts, age: later, retention: 1) == 100)
        #expect(target.percent(of: Outbox.Facts(), age: later, retention: nil) == 0)
    }
}
