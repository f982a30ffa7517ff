// InfluxDB's line protocol: measurement,tag=value field=value,field="text" time

extension TemplateParser {
    /// Reads all of a template that is a line. It is copied with one space between its parts, and a line feed at its end.
    mutating func parseLine() throws(TemplateFault) {
        try begin()
        guard next != UInt8(ascii: "{"), next != UInt8(ascii: "[") else {
            throw fault(
                at: position, "this is JSON, and body = \"text\" is for lines",
                "write measurement,tag=value field=value time, or set body to \"json\" or \"form\"")
        }
        guard next != UInt8(ascii: "#") else {
            throw fault(at: position, "a line that begins with # is a comment", "write the measurement first")
        }
        try name("the measurement", endsAt: " ,")
        while next == UInt8(ascii: ",") {
            take()
            try pair { parser throws(TemplateFault) in try parser.tagValue() }
        }
        try space("after measurement and tags, a space and fields must follow", "write \" name=value\"")
        let start = position
        var isCertain = false
        repeat {
            if next == UInt8(ascii: ",") { take() }
            try pair { parser throws(TemplateFault) in
                let sole = try parser.fieldValue()
                isCertain = isCertain || !(sole?.canBeUnknown(in: parser.tags ?? .location) ?? false)
                return sole
            }
        } while next == UInt8(ascii: ",")
        guard isCertain else {
            throw fault(
                at: start, "all fields can be unknown, and a line has at least one",
                "add one that is always known, such as uuid=\"\(TemplateTag.uuid.written)\"")
        }
        mark(.extras)
        try time()
        text.append(0x0A)
        try end("remove what follows: a template is one line")
    }

    // MARK: Parts

    /// Copies a space, and passes over more.
    private mutating func space(_ reason: String, _ advice: String) throws(TemplateFault) {
        guard next == UInt8(ascii: " ") else { throw fault(at: position, reason, advice) }
        take()
        while next == UInt8(ascii: " ") { position += 1 }
    }

    /// A name and what belongs to it, which is left out with it.
    private mutating func pair(
        _ value: (inout TemplateParser) throws(TemplateFault) -> TemplateTag?
    ) throws(TemplateFault) {
        let (nameStart, start, first) = (position, text.count, pieces.count)
        let name = try name("a name", endsAt: "=")
        guard !LineText.reserved.contains(name) else {
            throw fault(at: nameStart, "\(quoted(name)) is a name of InfluxDB's own", "write another")
        }
        guard keys.insert(name).inserted else {
            throw fault(
                at: nameStart, "the name \(quoted(name)) stands twice in this line", "leave one of them out")
        }
        take()
        if let sole = try value(&self),
            sole == .geofenceIdentifier || sole.canBeUnknown(in: tags ?? .location)
        {
            wrap(sole, from: start, since: first)
        }
    }

    /// A measurement, or the name of a tag or field, up to what ends it.
    ///
    /// - Returns: it without escapes.
    @discardableResult
    private mutating func name(_ what: String, endsAt ends: String) throws(TemplateFault) -> [UInt8] {
        var plain: [UInt8] = []
        while let byte = next, !ends.utf8.contains(byte) {
            switch byte {
            case UInt8(ascii: "\\"): try lineEscape(into: &plain)
            case UInt8(ascii: ","), UInt8(ascii: " "):
                throw fault(
                    at: position, "after a name, = and a value must follow",
                    "write name=value, and a backslash before a space or comma that is part of the name")
            case UInt8(ascii: "<") where follows("<%"):
                throw fault(
                    at: position, "a tag cannot stand in a name: two names could become the same",
                    "write a name that is fixed, and the tag as its value")
            default:
                try checkPlain(byte)
                plain.append(byte)
                take()
            }
        }
        guard next != nil else {
            throw fault(
                at: position, "the line ends after \(what)",
                "write measurement,tag=value field=value \(TemplateTag.timestampMilliseconds.written)")
        }
        guard !plain.isEmpty else { throw fault(at: position, "\(what) is missing", "write it") }
        return plain
    }

    /// - Returns: the tag, if it is nothing but one.
    private mutating func tagValue() throws(TemplateFault) -> TemplateTag? {
        let start = position
        var tags: [TemplateTag] = []
        var plain: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: ","), byte != UInt8(ascii: " ") {
            switch byte {
            case UInt8(ascii: "\\"): try lineEscape(into: &plain)
            case UInt8(ascii: "="):
                throw fault(at: position, "an equals sign ends no tag", "write \\= in its place")
            case UInt8(ascii: "<") where follows("<%"): tags.append(try lineTag(in: .name))
            default:
                try checkPlain(byte)
                plain.append(byte)
                take()
            }
        }
        guard position > start else {
            throw fault(at: position, "the value of a tag is missing", "write it, or leave the tag out")
        }
        return plain.isEmpty && tags.count == 1 ? tags.first : nil
    }

    /// - Returns: the tag, if it is nothing but one.
    private mutating func fieldValue() throws(TemplateFault) -> TemplateTag? {
        switch next {
        case UInt8(ascii: "\""): return try lineString()
        case UInt8(ascii: "<") where follows("<%"):
            let start = position
            let tag = try readTag()
            guard tag.kind != .text else {
                throw fault(
                    at: start, "\(tag.rawValue) is a text, so its tag stands inside quotation marks",
                    "write \"\(tag.written)\"")
            }
            if tag.kind == .number, next == UInt8(ascii: "i") {
                mark(.integer(tag))
                take()
            } else {
                mark(.tag(tag))
            }
            guard isFieldEnd else {
                throw fault(
                    at: position, "a tag stands for a whole value, and more follows it",
                    "write i behind a number for a whole one, or all of it as a text, in quotation marks")
            }
            return tag
        default:
            try fieldScalar()
            return nil
        }
    }

    private var isFieldEnd: Bool { next == nil || next == UInt8(ascii: ",") || next == UInt8(ascii: " ") }

    private mutating func lineString() throws(TemplateFault) -> TemplateTag? {
        let opening = position
        take()
        var tags: [TemplateTag] = []
        var isPlain = true
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                take()
                guard isFieldEnd else {
                    throw fault(
                        at: position, "a text has ended before this",
                        "write a comma or a space, or \\\" for a quotation mark in the text")
                }
                return isPlain && tags.count == 1 ? tags.first : nil
            case UInt8(ascii: "\\"):
                isPlain = false
                let after = position + 1 < bytes.count ? bytes[position + 1] : 0
                guard after == UInt8(ascii: "\"") || after == UInt8(ascii: "\\") else {
                    throw fault(
                        at: position, "a text has no other escapes than \\\" and \\\\",
                        "write \\\\ for a backslash")
                }
                take()
                take()
            case UInt8(ascii: "<") where follows("<%"): tags.append(try lineTag(in: .string))
            default:
                guard byte >= 0x20, byte != 0x7F else { throw noLine() }
                isPlain = false
                take()
            }
        }
        throw fault(at: opening, "this text is not closed", "write \" where it ends")
    }

    /// A tag in a text, which is escaped as the place demands.
    private mutating func lineTag(in place: LineText.Place) throws(TemplateFault) -> TemplateTag {
        let tag = try readTag()
        // The others have no character that any place would have to escape.
        let isOfOthers = [.geofenceIdentifier, .deviceID, .installID].contains(tag)
        mark(isOfOthers ? .escaped(tag, place) : .tag(tag))
        return tag
    }

    private mutating func fieldScalar() throws(TemplateFault) {
        let start = position
        while !isFieldEnd { position += 1 }
        let run = bytes[start..<position]
        let shown = String(decoding: run.prefix(40), as: UTF8.self)
        let isWhole = run.last == UInt8(ascii: "i")
        let number = isWhole ? run.dropLast() : run
        let digits = String(decoding: number, as: UTF8.self)
        let isNumber =
            Self.isNumber(number)
            && (isWhole ? Int64(digits) != nil : Double(digits)?.isFinite == true)
        guard isNumber || shown == "true" || shown == "false" else {
            throw fault(
                at: start, shown.isEmpty ? "the value of a field is missing" : "\(shown) is no value",
                "write a number, i behind it if it is a whole one, true, false, or a text in quotation marks")
        }
        text += run
    }

    /// Seconds or milliseconds, with zeros behind them for a unit that is finer.
    private mutating func time() throws(TemplateFault) {
        let advice =
            "write \(TemplateTag.timestampMilliseconds.written) behind a space, with precision=ms in url, or with 000000 "
            + "behind it for nanoseconds"
        guard next == UInt8(ascii: " ") else {
            throw fault(at: position, "a line ends with its time", advice)
        }
        try space("", "")
        let start = position
        guard next == UInt8(ascii: "<"), follows("<%") else {
            throw fault(at: start, "a line ends with its time", advice)
        }
        let tag = try readTag()
        guard tag == .timestampSeconds || tag == .timestampMilliseconds else {
            throw fault(at: start, "\(tag.rawValue) is no time that a line can have", advice)
        }
        let zeros = position
        while next == UInt8(ascii: "0") { position += 1 }
        let scales: [Int: Int64] = [0: 1, 3: 1000, 6: 1_000_000, 9: 1_000_000_000]
        guard let scale = scales[position - zeros], scale < 1_000_000_000 || tag == .timestampSeconds else {
            throw fault(
                at: zeros, "this is no unit of time that InfluxDB knows",
                "write three zeros behind it for a unit that is a thousand times finer, six or nine for those after it"
            )
        }
        mark(.time(tag, scale: scale))
    }

    // MARK: Characters

    private mutating func lineEscape(into plain: inout [UInt8]) throws(TemplateFault) {
        let after = position + 1 < bytes.count ? bytes[position + 1] : 0
        guard ", =".utf8.contains(after) else {
            throw fault(
                at: position, "a backslash stands only before a comma, a space or an equals sign",
                "write / in its place")
        }
        plain.append(after)
        take()
        take()
    }

    /// What may stand in names and tags without an escape.
    private func checkPlain(_ byte: UInt8) throws(TemplateFault) {
        guard byte >= 0x20, byte != 0x7F else { throw noLine() }
        guard byte != UInt8(ascii: "\"") else {
            throw fault(
                at: position, "quotation marks stand around the texts of fields alone",
                "remove it; a space or a comma in a tag has a backslash before it")
        }
    }

    private func noLine() -> TemplateFault {
        fault(
            at: position,
            next == 0x0A ? "a template is one line" : "a line has no control characters",
            next == 0x0A ? "write all of it in one" : "write a space")
    }
}
