import Base
import Testing

@testable import Alerts

@Suite("mails") struct MailTextTests {
    private func server(_ from: String = "fleet@example.org") throws -> MailServer {
        try MailServer(url: "smtp://127.0.0.1:25", from: from)
    }

    private func text(_ rule: String, _ texts: [String], count: Int64? = nil) throws -> MailText {
        MailText(
            number: 17, rule: rule, time: Samples.time,
            recipients: [
                try #require(MailAddress("ada@example.org")), try #require(MailAddress("bob@example.net")),
            ],
            lines: texts.map { MailText.Line(time: Samples.time, text: $0) },
            count: count ?? Int64(texts.count),
            page: "https://fleet.example.org/#/alerts")
    }

    @Test("head and text of a mail") func whole() throws {
        let message = try text("Depot", ["van 7 has left Depot"]).message(
            from: server("Our fleet <fleet@example.org>"))
        #expect(
            message
                == """
                Date: Tue, 09 Jun 2026 10:13:20 +0000
                From: "Our fleet" <fleet@example.org>
                To: ada@example.org,
                 bob@example.net
                Subject: Depot: van 7 has left Depot
                Message-ID: <beekon.17.1781000000000@example.org>
                Auto-Submitted: auto-generated
                MIME-Version: 1.0
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: quoted-printable

                2026-06-09 10:13 UTC  van 7 has left Depot

                Rule: Depot
                https://fleet.example.org/#/alerts

                """.replacing("\n", with: "\r\n"))
    }

    @Test("of many alerts the rest is counted") func many() throws {
        let message = try text("Depot", ["one", "two"], count: 9).message(from: server())
        #expect(message.contains("Subject: Depot: 9 alerts\r\n"))
        #expect(message.contains("  two\r\nand 7 more\r\n"))
    }

    @Test("names begin no header, and no line of their own") func injection() throws {
        let message = try text(
            "a\r\nBcc: eve@example.com", ["x\r\n\r\n.\r\nMAIL FROM:<eve@example.com>\u{2028}y\u{0}"]
        )
        .message(from: server())
        let parts = message.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(!parts[0].contains("\nBcc") && !parts[0].contains("\nMAIL"))
        #expect(parts[1].contains("  x    .  MAIL FROM:<eve@example.com> y=20\r\n"))
        // A bare CR or LF is taken for the end of a line by some.
        #expect(!message.replacing("\r\n", with: "").contains { $0 == "\r" || $0 == "\n" })
    }

    @Test("what is not ASCII is in encoded words, none of them too long, and no character cut") func words()
        throws
    {
        let rule = String(repeating: "Häfen 🚚 ", count: 20)
        let message = try text(rule, ["x"]).message(from: server("Flotte Köln <f@example.org>"))
        #expect(message.utf8.allSatisfy { $0 < 128 })
        #expect(message.contains("From: =?UTF-8?B?RmxvdHRlIEvDtmxu?= <f@example.org>\r\n"))
        for line in message.split(separator: "\r\n") { #expect(line.utf8.count <= 78) }
    }

    @Test(
        "quoted-printable",
        arguments: [
            ("a=b", "a=3Db"), ("ä", "=C3=A4"), ("end ", "end=20"), ("tab\t", "tab=09"),
            ("a\nb\n", "a\r\nb\r\n"),
            (".", "."), ("", ""),
            (String(repeating: "x", count: 80), String(repeating: "x", count: 75) + "=\r\nxxxxx"),
        ])
    func quotedPrintable(_ text: String, _ expected: String) {
        #expect(MailText.quotedPrintable(text) == expected)
    }

    @Test(
        "days of the week",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"), (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 +0000"),
        ] as [(Int64, String)])
    func dates(_ milliseconds: Int64, _ expected: String) {
        #expect(MailText.date(Timestamp(milliseconds: milliseconds)) == expected)
    }

    @Test(
        "addresses",
        arguments: [
            ("ada@example.org", true), ("a.b+c@x-y.example", true), ("root@localhost", true), ("ada", false),
            ("@example.org", false), ("ada@", false), ("a b@example.org", false), ("a@b@example.org", false),
            ("ada@example.org\r\nRCPT TO:<eve@example.com>", false), ("<ada@example.org>", false),
            ("ada@exämple.org", false), ("ada@example.org,", false), ("-oX@example.org", false),
            (String(repeating: "a", count: 65) + "@example.org", false),
        ])
    func addresses(_ text: String, isOne: Bool) {
        #expect((MailAddress(text) != nil) == isOne)
    }

    @Test(
        "whether a mail server must encrypt",
        arguments: [
            ("smtp://mail.example.org", false, true), ("smtp://mail.example.org:587", true, false),
            ("smtps://mail.example.org", true, true), ("smtp://localhost", false, false),
            ("smtp://127.0.0.1:2525/", false, false), ("smtp://[::1]:25", false, false),
        ])
    func encryption(_ url: String, mayBePlain: Bool, isEncrypted: Bool) throws {
        #expect(
            try MailServer(url: url, from: "a@example.org", mayBePlain: mayBePlain).isEncrypted == isEncrypted
        )
    }

    @Test(
        "what is no mail server, or no sender",
        arguments: [
            ("http://mail.example.org", "a@example.org"), ("smtp://", "a@example.org"),
            ("smtp://user:word@mail.example.org", "a@example.org"),
            ("smtp://mail.example.org/x", "a@example.org"),
            ("smtp://mail.example.org:0", "a@example.org"),
            ("smtp://mail.example.org:65536", "a@example.org"),
            ("smtp://mail.example.org", "nobody"), ("smtp://mail.example.org", "A\r\nB <a@example.org>"),
            ("smtp://mail.example.org", "A <a@example.org"),
        ])
    func refusals(_ url: String, _ from: String) {
        #expect(throws: MailServer.Invalid.self) { try MailServer(url: url, from: from) }
    }
}
