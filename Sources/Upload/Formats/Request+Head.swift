internal import DaemonConfiguration

// What a frozen request is but for its body, in bytes that are stored beside it.
//
// The first byte is the version, the second the method. Fields follow, each as a tag, its length in two bytes, most
// significant first, and its text; by ascending tags, a field without text left out. What is read back is not trusted: a
// damaged disk must not make a request of two, nor one with other headers.

extension Request {
    /// Bytes; what is longer was not made here.
    package static let headLimit = 8192
    private static let version: UInt8 = 1

    private enum Tag: UInt8 { case query = 1, contentType, encoding, topic, limitUser, limitDevice }

    /// Everything but format and body; nil for a batch of the format `beekon` as it usually is.
    package var head: [UInt8]? {
        guard self != BeekonFormat.request(body: body) else { return nil }
        var bytes = [Self.version, method.code]
        func append(_ tag: Tag, _ text: String?) {
            guard let text, !text.isEmpty else { return }
            bytes.append(tag.rawValue)
            let size = UInt16(truncatingIfNeeded: text.utf8.count)
            bytes.append(UInt8(truncatingIfNeeded: size >> 8))
            bytes.append(UInt8(truncatingIfNeeded: size))
            bytes.append(contentsOf: text.utf8)
        }
        func value(_ name: Header.Name) -> String? { headers.first { $0.name == name }?.value }
        append(.query, query)
        append(.contentType, contentType)
        append(.encoding, encoding)
        append(.topic, topic)
        append(.limitUser, value(.limitUser))
        append(.limitDevice, value(.limitDevice))
        return bytes
    }

    /// A request that was frozen earlier.
    ///
    /// - Parameters:
    ///   - format: the name of its format.
    ///   - head: as `head` wrote it; nil for a batch of the format `beekon`.
    /// - Returns: nil when this version of beekond cannot send what that version froze, or when the head is damaged. The rows
    ///   must then be frozen anew.
    package init?(format name: String, head: [UInt8]?, body: [UInt8]) {
        guard let format = Format(rawValue: name) else { return nil }
        guard let head else {
            guard format == .beekon else { return nil }
            self = BeekonFormat.request(body: body)
            return
        }
        guard head.count <= Self.headLimit, head.count >= 2, head[0] == Self.version,
            let method = Method.allCases.first(where: { $0.code == head[1] }),
            let fields = Self.fields(head[2...])
        else { return nil }
        self.init(format: format, method: method, body: body)
        for (tag, text) in fields {
            guard Self.isValid(text, tag) else { return nil }
            switch tag {
            case .query: query = text
            case .contentType: contentType = text
            case .encoding: encoding = text
            case .topic: topic = text
            case .limitUser: headers.append(Header(name: .limitUser, value: text))
            case .limitDevice: headers.append(Header(name: .limitDevice, value: text))
            }
        }
    }

    private static func fields(_ bytes: ArraySlice<UInt8>) -> [(tag: Tag, text: String)]? {
        var fields: [(tag: Tag, text: String)] = []
        var rest = bytes
        while !rest.isEmpty {
            let start = Array(rest.prefix(3))
            guard start.count == 3, let tag = Tag(rawValue: start[0]),
                fields.last.map({ $0.tag.rawValue < tag.rawValue }) ?? true
            else { return nil }
            let size = Int(start[1]) << 8 | Int(start[2])
            let text = rest.dropFirst(3).prefix(size)
            guard size > 0, text.count == size else { return nil }
            fields.append((tag, String(decoding: text, as: UTF8.self)))
            rest = rest.dropFirst(3 + size)
        }
        return fields
    }

    /// Whether the text is printable ASCII without line breaks, nor spaces where one would end a text.
    private static func isValid(_ text: String, _ tag: Tag) -> Bool {
        switch tag {
        case .query: isPrintable(text, without: " #")
        case .contentType, .limitUser, .limitDevice: isPrintable(text, without: "")
        case .encoding: text == "gzip"
        // MQTT 5.0, section 4.7.1: the wildcards are for those who subscribe.
        case .topic: isPrintable(text, without: " +#")
        }
    }

    private static func isPrintable(_ text: String, without excluded: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) && !excluded.utf8.contains($0) }
    }
}

extension Settings.Method {
    /// In a stored head. Never reused.
    fileprivate var code: UInt8 {
        switch self {
        case .post: 1
        case .put: 2
        case .patch: 3
        case .get: 4
        }
    }
}
