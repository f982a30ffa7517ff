internal import Envelope

/// Why a server refuses, in its own words, for people: one line without control characters, and bounded, because it is kept
/// with every row that is refused.
enum ServerReason {
    /// Unicode scalars of the sentence, and of what may stand before or behind it.
    private static let limit = 200
    private static let sideLimit = 80

    /// Members of an object that is no problem (RFC 9457), in the order of their worth.
    private static let sentences = ["message", "error", "reason", "msg"]

    /// - Parameters:
    ///   - body: of the answer, as far as it was read.
    ///   - hide: takes secrets out of a text. Called before anything is cut, so that no half of one is left.
    /// - Returns: nil when there is nothing that people can read.
    static func read(_ body: [UInt8], hiding hide: (String) -> String) -> String? {
        switch JSONReader.read(body) {
        case .object(let members): return problem(members, hide) ?? sentence(in: members, hide)
        case .string(let text): return line(text, hide)
        case .null, .bool, .number, .array: return nil
        case nil: break
        }
        guard let text = String(validating: body, as: UTF8.self) else { return nil }
        let isMarkup = text.unicodeScalars.first { !$0.properties.isWhitespace && $0 != "\u{FEFF}" } == "<"
        guard isMarkup else { return line(text, hide) }
        return title(of: text).flatMap { line($0, hide) } ?? line(plain(text), hide)
    }

    /// `Unknown vehicle: truck-12 is not registered (/locations/0, index 0)`.
    private static func problem(_ members: [String: JSON], _ hide: (String) -> String) -> String? {
        let title = text(members["title"]).flatMap { line($0, hide, limit: sideLimit) }
        let detail = detail(members["detail"]).flatMap { line($0, hide) }
        let parts = [title, detail].compactMap(\.self)
        guard !parts.isEmpty else { return nil }
        var places = [text(members["pointer"]).flatMap { line($0, hide, limit: sideLimit) }].compactMap(
            \.self)
        if case .number(let index)? = members["index"] { places.append("index \(index.prefix(20))") }
        return parts.joined(separator: ": ") + (places.isEmpty ? "" : " (\(places.joined(separator: ", ")))")
    }

    /// A text; or, as some frameworks answer, a list of what is wrong, of which the first is told.
    private static func detail(_ value: JSON?) -> String? {
        guard case .array(let elements)? = value, case .object(let first)? = elements.first else {
            return text(value)
        }
        guard let what = sentences.lazy.compactMap({ text(first[$0]) }).first else { return nil }
        guard case .array(let path)? = first["loc"] else { return what }
        let place = path.prefix(10).compactMap { part in
            if case .number(let index) = part { index } else { text(part) }
        }
        return what + " (" + place.joined(separator: ".") + ")"
    }

    private static func sentence(in members: [String: JSON], _ hide: (String) -> String) -> String? {
        for name in sentences {
            if let found = text(members[name]).flatMap({ line($0, hide) }) {
                // As OAuth has it (RFC 6749): a code, and a sentence beside it.
                let more = name == "error" ? text(members["error_description"]) : nil
                return more.flatMap { line($0, hide) }.map { found + ": " + $0 } ?? found
            }
            guard case .object(let inner)? = members[name] else { continue }
            let texts = (sentences + ["detail", "title"]).lazy.compactMap { text(inner[$0]) }
            if let found = texts.first.flatMap({ line($0, hide) }) { return found }
        }
        return nil
    }

    private static func text(_ value: JSON?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }

    /// The title of a page, in whatever case its tags are.
    private static func title(of page: String) -> String? {
        let lower = page.lowercased()
        // Few characters change their length with their case; where one does, the page has no title.
        guard lower.utf8.count == page.utf8.count, let start = lower.firstRange(of: "<title"),
            let open = lower[start.upperBound...].firstIndex(of: ">"),
            let end = lower[open...].firstRange(of: "</title")
        else { return nil }
        let from = lower.utf8.distance(from: lower.startIndex, to: lower.index(after: open))
        let length = lower.utf8.distance(from: lower.index(after: open), to: end.lowerBound)
        return String(decoding: page.utf8.dropFirst(from).prefix(length), as: UTF8.self)
    }

    /// The words of a page: what is outside its tags, comments, scripts and styles.
    private static func plain(_ page: String) -> String {
        let bytes = Array(page.utf8)
        // Letters of either case alike.
        let folded = bytes.map { $0 | 0x20 }
        var (words, place) = ([UInt8](), 0)
        func begins(_ text: String) -> Bool { folded[place...].starts(with: text.utf8) }
        /// Up to behind the next of these; without one, to the end.
        func skip(to end: String) {
            while place < bytes.count, !begins(end) { place += 1 }
            place = min(place + end.utf8.count, bytes.count)
        }
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "<") else {
                words.append(bytes[place])
                place += 1
                continue
            }
            words.append(UInt8(ascii: " "))
            if begins("<!--") {
                skip(to: "-->")
            } else if let name = ["script", "style"].first(where: { begins("<" + $0) }) {
                skip(to: "</" + name)
                skip(to: ">")
            } else {
                skipTag(bytes, &place)
            }
        }
        return String(decoding: words, as: UTF8.self)
    }

    /// To behind its end; what is quoted in it ends nothing.
    private static func skipTag(_ bytes: [UInt8], _ place: inout Int) {
        var quote: UInt8?
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return
            }
        }
    }

    /// The printable characters, with single spaces between the words.
    private static func line(
        _ text: String, _ hide: (String) -> String, limit: Int = limit
    ) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in hide(text).unicodeScalars {
            if scalar.properties.isWhitespace {
                if let last = scalars.last, last != " " { scalars.append(" ") }
            } else if isPrintable(scalar) {
                scalars.append(scalar)
            }
        }
        var cut = String.UnicodeScalarView(hide(String(scalars)).unicodeScalars.prefix(limit))
        while cut.last == " " { cut.removeLast() }
        return cut.isEmpty ? nil : String(cut)
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}
