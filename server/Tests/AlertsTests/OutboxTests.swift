import Base
import Foundation
import ServerStore
import Synchronization
import Testing

@testable import Alerts

/// A database of its own with a rule, whose clock is the test's.
private final class Outbox {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "outbox-\(UUID())")
    private let store: Store
    private var rule = AlertRule(
        id: 3, name: "depot", kind: "geofence", webhook: "https://hooks.example.org/",
        secret: Webhook.newSecret(),
        mail: ["ada@example.org", "bob@example.org"], created: Samples.time, author: "root")
    private var made: UInt8 = 0

    init() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try Store(.sqlite(folder.appending(path: "server.db").path), patience: .seconds(60)) { _ in }
        let rule = rule
        _ = try await store.write { session throws(StoreError) in
            try session.run(
                """
                INSERT INTO alert_rules(id, name, kind, settings, webhook, secret, mail, mail_interval, created, author)
                VALUES (3, 'depot', 'geofence', '{}', $1, $2, $3, 300, 1, 'root')
                """, .optional(rule.webhook), .optional(rule.secret),
                .text(rule.mail.joined(separator: ",")))
        }
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Something happens; `seconds` after the beginning it is stored.
    func add(at seconds: Double, happened: Double? = nil, to rule: AlertRule? = nil) async throws {
        made += 1
        let id = try #require(UUIDv7(bytes: [UInt8](repeating: made, count: 16)))
        let alert = Alert(
            id: id, rule: 3, device: 7, time: Samples.time.advanced(bySeconds: happened ?? seconds),
            kind: "geofence",
            text: "alert \(made)", object: "{}")
        let (rule, now) = (rule ?? self.rule, Samples.time.advanced(bySeconds: seconds))
        _ = try await store.write { session throws(StoreError) in
            try AlertOutbox.add(alert, of: rule, now: now, in: session)
        }
    }

    func claim(at seconds: Double, most: Int = 4) async throws -> [WebhookJob] {
        let now = Samples.time.advanced(bySeconds: seconds)
        return try await store.write { session throws(StoreError) in
            let rules = try AlertOutbox.dueRules(now: now, in: session)
            return try AlertOutbox.claimWebhooks(of: rules.map { ($0, most) }, now: now, in: session)
        }
    }

    func finish(_ job: WebhookJob, _ setback: Setback? = nil, at seconds: Double) async throws {
        let now = Samples.time.advanced(bySeconds: seconds)
        try await store.write { session throws(StoreError) in
            if let setback {
                try AlertOutbox.finish(job, setback, now: now, in: session)
            } else {
                try AlertOutbox.finish(job, now: now, in: session)
            }
        }
    }

    func claimMails(at seconds: Double, most: Int = 4) async throws -> [MailJob] {
        let server = try MailServer(url: "smtp://localhost", from: "fleet@example.org")
        let now = Samples.time.advanced(bySeconds: seconds)
        return try await store.write { session throws(StoreError) in
            guard try AlertOutbox.hasMail(now: now, in: session) else { return [] }
            return try AlertOutbox.claimMails(most, by: server, page: nil, now: now, in: session)
        }
    }

    func finish(_ job: MailJob, _ setback: Setback? = nil, isHanded: Bool, at seconds: Double) async throws {
        let now = Samples.time.advanced(bySeconds: seconds)
        try await store.write { session throws(StoreError) in
            try AlertOutbox.finish(job, setback, isHanded: isHanded, now: now, in: session)
        }
    }

    func run(_ sql: String) async throws -> [[Cell]] {
        try await store.write { session throws(StoreError) in try session.run(sql) }
    }

    func tidy(at seconds: Double, age: Double? = nil, hasMail: Bool = true) async throws {
        let now = Samples.time.advanced(bySeconds: seconds)
        let age = Samples.time.advanced(bySeconds: age ?? seconds)
        try await store.write { session throws(StoreError) in
            try AlertOutbox.tidy(now: now, age: age, hasMail: hasMail, in: session)
        }
    }
}

@Suite("the outbox") struct OutboxTests {
    @Test("what is claimed is nobody else's until its time is over") func lease() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        let first = try #require(try await outbox.claim(at: 0).first)
        #expect(try await outbox.claim(at: 29).isEmpty)
        let second = try #require(try await outbox.claim(at: 30).first)
        #expect(second.attempt == 2 && Webhook.body(of: second.alert) == Webhook.body(of: first.alert))
        // The first comes late, and changes nothing for who has it now …
        try await outbox.finish(first, .givenUp(reason: "late"), at: 31)
        #expect(try await outbox.run("SELECT failed FROM alerts") == [[.null]])
        #expect(try await outbox.claim(at: 59).isEmpty)
        // … unless it was accepted.
        try await outbox.finish(first, at: 32)
        try await outbox.finish(second, .retry(after: 10, reason: "x"), at: 33)
        #expect(try await outbox.claim(at: 10_000).isEmpty)
    }

    @Test("of one rule no more than is asked for, and those first that wait longest") func order()
        async throws
    {
        let outbox = try await Outbox()
        for second in 0..<6 { try await outbox.add(at: Double(second)) }
        #expect(
            try await outbox.claim(at: 10, most: 4).map(\.alert.text) == [
                "alert 1", "alert 2", "alert 3", "alert 4",
            ])
        #expect(try await outbox.claim(at: 10, most: 4).map(\.alert.text) == ["alert 5", "alert 6"])
    }

    @Test("it is due again when its back-off says, and at once when it was interrupted") func setbacks()
        async throws
    {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        var job = try #require(try await outbox.claim(at: 0).first)
        try await outbox.finish(job, .retry(after: 10, reason: "answered 500"), at: 1)
        #expect(try await outbox.claim(at: 10).isEmpty)
        job = try #require(try await outbox.claim(at: 11).first)
        try await outbox.finish(job, .interrupted, at: 12)
        job = try #require(try await outbox.claim(at: 12).first)
        try await outbox.finish(job, .givenUp(reason: "answered 500"), at: 13)
        #expect(try await outbox.claim(at: 1e6).isEmpty)
        #expect(
            try await outbox.run("SELECT reason, attempts, due FROM alerts") == [
                [.text("answered 500"), .integer(3), .null]
            ])
    }

    @Test("what is older than an hour is listed and not sent; what is there already stays as it is")
    func age() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 3601, happened: 0)
        #expect(try await outbox.run("SELECT due, mail FROM alerts") == [[.null, .null]])
        try await outbox.add(at: 3600, happened: 0)
        #expect(try await outbox.claim(at: 3600).count == 1)
    }

    @Test("a clock that was ahead, a rule that is gone and what was kept for long enough") func upkeep()
        async throws
    {
        let outbox = try await Outbox()
        try await outbox.add(at: 400 * 86_400)
        #expect(try await outbox.claim(at: 0).isEmpty)
        try await outbox.tidy(at: 0)
        #expect(try await outbox.claim(at: 0).count == 1)
        _ = try await outbox.claimMails(at: 0)
        _ = try await outbox.run("DELETE FROM alert_rules")
        try await outbox.tidy(at: 100)
        #expect(try await outbox.run("SELECT due FROM alerts") == [[.null]])
        #expect(try await outbox.claimMails(at: 1000).isEmpty)
        #expect(
            try await outbox.run("SELECT count(*) FROM alert_recipients WHERE due IS NOT NULL") == [
                [.integer(0)]
            ])
        // By the clock it is old, by what is confirmed it is not.
        try await outbox.tidy(at: 500 * 86_400, age: 433 * 86_400)
        #expect(try await outbox.run("SELECT count(*) FROM alerts") == [[.integer(1)]])
        try await outbox.tidy(at: 500 * 86_400)
        for table in ["alerts", "alert_mails", "alert_recipients"] {
            #expect(try await outbox.run("SELECT count(*) FROM \(table)") == [[.integer(0)]], "\(table)")
        }
    }

    @Test("without a mail server, mail is given up after three days") func noServer() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        try await outbox.tidy(at: 3 * 86_400, hasMail: false)
        #expect(try await outbox.run("SELECT mail, failed FROM alerts") == [[.integer(0), .null]])
        try await outbox.tidy(at: 3 * 86_400 + 1, hasMail: true)
        #expect(try await outbox.run("SELECT mail FROM alerts") == [[.integer(0)]])
        try await outbox.tidy(at: 3 * 86_400 + 1, hasMail: false)
        #expect(
            try await outbox.run("SELECT mail, reason FROM alerts") == [
                [.null, .text("no mail server is configured")]
            ])
    }

    @Test("a mail that nobody can have seen tells what has happened since, under the same Message-ID")
    func rewriting() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        let first = try await outbox.claimMails(at: 1)
        #expect(first.map(\.address.text) == ["ada@example.org", "bob@example.org"])
        #expect(first[0].message == first[1].message && !first[0].wasHanded)
        for job in first {
            try await outbox.finish(job, .retry(after: 10, reason: "no route"), isHanded: false, at: 2)
        }
        try await outbox.add(at: 86_000)
        let second = try await outbox.claimMails(at: 86_001)
        #expect(second.count == 2 && second[0].mail == first[0].mail)
        #expect(second[0].message.contains("alert 1\r\n") && second[0].message.contains("alert 2\r\n"))
        #expect(messageID(second[0]) == messageID(first[0]))
        // One recipient may have it: from now on it stays as it is, for both.
        try await outbox.finish(second[0], .retry(after: 10, reason: "lost"), isHanded: true, at: 86_002)
        try await outbox.finish(second[1], .retry(after: 10, reason: "no route"), isHanded: false, at: 86_002)
        try await outbox.add(at: 86_003)
        let third = try await outbox.claimMails(at: 86_020)
        #expect(third.map(\.message) == [second[0].message, second[0].message])
        for job in third { try await outbox.finish(job, isHanded: true, at: 86_021) }
        // The next one has the rest, so much later than the last went out.
        #expect(try await outbox.claimMails(at: 86_319).isEmpty)
        let fourth = try await outbox.claimMails(at: 86_320)
        #expect(
            fourth.count == 2 && fourth[0].mail != third[0].mail && fourth[0].message.contains("alert 3\r\n"))
        #expect(!fourth[0].message.contains("alert 2\r\n"))
    }

    @Test("a mail whose server was killed stays as it is") func killed() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        let first = try await outbox.claimMails(at: 0)
        try await outbox.add(at: 1)
        #expect(try await outbox.claimMails(at: 59).isEmpty)
        let second = try await outbox.claimMails(at: 60)
        #expect(
            second.map(\.message) == first.map(\.message)
                && second.allSatisfy { $0.attempt == 2 && $0.wasHanded })
    }

    @Test("who accepts gets the next one, whoever else does not") func partial() async throws {
        let outbox = try await Outbox()
        try await outbox.add(at: 0)
        let first = try await outbox.claimMails(at: 0)
        try await outbox.finish(first[0], isHanded: true, at: 1)
        try await outbox.finish(first[1], .retry(after: 3000, reason: "550"), isHanded: false, at: 1)
        try await outbox.add(at: 2)
        let second = try await outbox.claimMails(at: 300)
        #expect(second.count == 2 && second.allSatisfy { $0.mail != first[0].mail })
        // While nobody accepts a mail there is no other.
        for job in second {
            try await outbox.finish(job, .retry(after: 3000, reason: "550"), isHanded: true, at: 301)
        }
        try await outbox.add(at: 302)
        #expect(try await outbox.claimMails(at: 2000).isEmpty)
    }

    private func messageID(_ job: MailJob) -> Substring? {
        job.message.split(separator: "\r\n").first { $0.hasPrefix("Message-ID: ") }
    }
}
