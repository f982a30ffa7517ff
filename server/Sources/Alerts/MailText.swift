package import Base
internal import FoundationEssentials

/// A mail as it is sent (RFC 5322): its head and text in ASCII, with CR LF at the end of each line.
package struct MailText: Sendable {
    /// One alert, in a line.
    package struct Line: Sendable {
        package var time: Timestamp
        package var text: String

        package init(time: Timestamp, text: String) {
            self.time = time
            self.text = text
        }
    }

    /// Alerts that it lists; more are counted.
    package static let most = 100

    /// The mail's number in this database.
    package var number: Int64
    package var rule: String
    /// When the alert was made.
    package var time: Timestamp
    package var recipients: [MailAddress]
    /// Up to `most` of them, oldest first.
    package var lines: [Line]
    /// All alerts that it tells of.
    package var count: Int64
    /// Address of the page; nil: it is not known.
    package var page: String?

    package init(
        number: Int64, rule: String, time: Timestamp, recipients: [MailAddress], lines: [Line], count: Int64,
        page: String?
    ) {
        self.number = number
        self.rule = rule
        self.time = time
        self.recipients = recipients
        self.lines = lines
        self.count = count
        self.page = page
    }

    package func message(from server: MailServer) -> String {
        let from = Self.phrase(server.fromName).map { "\($0) <\(server.from.text)>" } ?? server.from.text
        let head = [
            "Date: \(Self.date(time))", "From: \(from)",
            "To: \(recipients.map(\.text).joined(separator: ",\r\n "))",
            "Subject: \(Self.unstructured(subject))",
            "Message-ID: <beekon.\(number).\(time.milliseconds)@\(server.from.domain)>",
            // Nobody's holiday replies to it (RFC 3834).
            "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable",
        ]
        return (head + ["", Self.quotedPrintable(text)]).joined(separator: "\r\n")
    }

    private var subject: String {
        count == 1 ? "\(rule): \(lines.first?.text ?? "")" : "\(rule): \(count) alerts"
    }

    private var text: String {
        var text = lines.map { "\(Self.minute($0.time))  \(Self.line($0.text))" }
        let rest = count - Int64(lines.count)
        if rest > 0 { text.append("and \(rest) more") }
        text += ["", "Rule: \(Self.line(rule))"]
        if let page { text.append(page) }
        return text.joined(separator: "\n") + "\n"
    }

    /// Without line breaks and other controls, whatever names say.
    private static func line(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    // MARK: Times

    /// `2026-06-09 10:13 UTC`
    private static func minute(_ time: Timestamp) -> String {
        let text = time.iso8601
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }

    /// The time in the form of RFC 5322: `Tue, 09 Jun 2026 10:13:20 +0000`.
    static func date(_ time: Timestamp) -> String {
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // 1970-01-01 was a Thursday.
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let text = time.iso8601
        let day = Int((time.wholeSeconds / 86_400) % 7)
        let month = Int(text.dropFirst(5).prefix(2)) ?? 1
        return "\(days[max(0, day)]), \(text.dropFirst(8).prefix(2)) \(names[(month - 1) % 12]) "
            + "\(text.prefix(4)) \(text.dropFirst(11).prefix(8)) +0000"
    }

    // MARK: Encodings

    /// A name in front of an address; nil: there is none.
    static func phrase(_ name: String) -> String? {
        let name = line(name)
        guard !name.isEmpty else { return nil }
        guard name.utf8.allSatisfy({ (32...126).contains($0) }) else { return encodedWords(name) }
        return "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// The value of a header: as it is where it is short ASCII, else in encoded words.
    static func unstructured(_ text: String) -> String {
        let text = line(text)
        let isPlain =
            text.utf8.count <= 60 && !text.contains("=?") && text.utf8.allSatisfy { (32...126).contains($0) }
        return isPlain && text.first != " " && text.last != " " && !text.isEmpty ? text : encodedWords(text)
    }

    /// RFC 2047, in base64. Each word is whole characters, and as long as fits beside the longest name of a header.
    static func encodedWords(_ text: String) -> String {
        var words: [String] = []
        var word: [UInt8] = []
        func end() {
            guard !word.isEmpty else { return }
            words.append("=?UTF-8?B?\(Data(word).base64EncodedString())?=")
            word = []
        }
        for scalar in text.unicodeScalars {
            let bytes = Array(String(Character(scalar)).utf8)
            if word.count + bytes.count > 42 { end() }
            word += bytes
        }
        end()
        return words.joined(separator: "\r\n ")
    }

    /// RFC 2045, 6.7, of a text with `\n` at the end of its lines.
    static func quotedPrintable(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var lines = [""]
            let bytes = Array(line.utf8)
            for (index, byte) in bytes.enumerated() {
                let isBlankAtEnd = (byte == 32 || byte == 9) && index == bytes.count - 1
                let isPlain = (32...126).contains(byte) && byte != UInt8(ascii: "=") && !isBlankAtEnd
                let piece = isPlain ? String(UnicodeScalar(byte)) : "=" + hex(byte)
                // One more for the = at the end of a line that goes on.
                if lines[lines.count - 1].utf8.count + piece.utf8.count > 75 { lines.append("") }
                lines[lines.count - 1] += piece
            }
            return lines.joined(separator: "=\r\n")
        }.joined(separator: "\r\n")
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
