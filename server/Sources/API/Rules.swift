internal import Accounts
internal import Alerts
internal import Base
internal import Envelope
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What admins want to be told of, and where: rules.
struct Rules: Sendable {
    let store: Store
    let bodies: BodyReader
    let watch: AlertWatch
    let delivery: AlertDelivery
    /// Whether mail can be sent at all.
    let hasMailServer: Bool

    /// `GET /v1/rules`: all, without their secrets.
    func all() async throws -> Response {
        let rules = try await store.read { session throws(StoreError) in try AlertRules.all(in: session) }
        var text = Array(#"{"rules":["#.utf8)
        for (index, rule) in rules.enumerated() {
            text += (index > 0 ? ",\n" : "\n").utf8
            Self.append(rule, secret: nil, to: &text)
        }
        text += "],\"mail_server\":\(hasMailServer)}\n".utf8
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// `POST /v1/rules`: 201 with the rule, and with the secret of its webhook, which is shown this once.
    func add(_ request: Request, by author: String, now: Timestamp) async throws -> Response {
        let draft = try await draft(in: request)
        let (rule, isSecretNew) = try await store.write { session throws(StoreError) in
            try AlertRules.add(draft, by: author, now: now, in: session)
        }
        try await watch.load()
        var text: [UInt8] = []
        Self.append(rule, secret: isSecretNew ? draft.secret : nil, to: &text)
        return Registry.created(text + [0x0A], at: "/v1/rules/\(rule.rule.id)")
    }

    /// `PUT /v1/rules/3`: the rule is this one from now on. Without `webhook` it goes where it went; with `"secret":"new"` it gets
    /// another secret, shown this once.
    func change(_ id: Int64, _ request: Request) async throws -> Response {
        let draft = try await draft(in: request)
        let changed = try await store.write { session throws(StoreError) in
            try AlertRules.change(id, to: draft, in: session)
        }
        guard let (rule, isSecretNew) = changed else { throw Self.none(id) }
        try await watch.load()
        var text: [UInt8] = []
        Self.append(rule, secret: isSecretNew ? draft.secret : nil, to: &text)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text + [0x0A])))
    }

    /// `DELETE /v1/rules/3`
    func remove(_ id: Int64) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try AlertRules.remove(id, in: session)
        }
        try await watch.load()
        guard isThere else { throw Self.none(id) }
        return Response(status: .noContent)
    }

    /// `POST /v1/rules/3/test`: sends to its webhook and to each of its addresses, at once, and says what came of it.
    func test(_ id: Int64) async throws -> Response {
        let rule = try await store.read { session throws(StoreError) in try AlertRules.rule(id, in: session) }
        guard let rule else { throw Self.none(id) }
        guard let results = await delivery.test(rule) else {
            var random = SystemRandomNumberGenerator()
            throw Problem.busy(using: &random)
        }
        var text = Array(#"{"results":["#.utf8)
        for (index, result) in results.enumerated() {
            text += (index > 0 ? "," : "").utf8
            text += #"{"channel":"\#(result.channel.rawValue)","address":"#.utf8
            JSONString.append(
                result.channel == .webhook ? WebhookAddress.shown(result.address) : result.address, to: &text)
            text += #","result":"\#(result.reason == nil ? "sent" : "failed")""#.utf8
            if let reason = result.reason {
                text += #","reason":"#.utf8
                JSONString.append(reason, to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
        text += "]}\n".utf8
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    private static func none(_ id: Int64) -> Problem { .notFound("There is no rule \(id).") }

    // MARK: What is asked for

    private func draft(in request: Request) async throws -> RuleDraft {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        return try RuleDraft(Fields(body, request.headers))
    }

    // MARK: As it is shown

    private static func append(_ entry: RuleEntry, secret: String?, to text: inout [UInt8]) {
        let rule = entry.rule
        text += #"{"id":\#(rule.id),"name":"#.utf8
        JSONString.append(rule.name, to: &text)
        text += #","kind":"#.utf8
        JSONString.append(rule.kind, to: &text)
        text += (AlertCondition(kind: rule.kind, settings: rule.settings)?.members ?? "").utf8
        if rule.group != nil {
            text += #","group":"#.utf8
            JSONString.append(entry.group ?? "", to: &text)
        }
        if let device = rule.device { text += #","device":\#(device)"#.utf8 }
        if let name = entry.device {
            text += #","device_name":"#.utf8
            JSONString.append(name, to: &text)
        }
        if let webhook = rule.webhook {
            text += #","webhook":"#.utf8
            JSONString.append(WebhookAddress.shown(webhook), to: &text)
        }
        text += #","mail":["#.utf8
        for (index, address) in rule.mail.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            JSONString.append(address, to: &text)
        }
        text +=
            #"],"mail_interval_seconds":\#(rule.mailInterval),"created":"\#(rule.created.iso8601)","author":"#
            .utf8
        JSONString.append(rule.author, to: &text)
        if let secret { text += #","secret":"\#(secret)""#.utf8 }
        text.append(UInt8(ascii: "}"))
    }
}

extension RuleDraft {
    private static let mostAddresses = 10

    fileprivate init(_ fields: Fields) throws(Problem) {
        let name = try fields.text("name")
        guard Devices.canBe(name) else {
            throw Problem(field: "name", "a name has 1 to 100 characters, and no control characters")
        }
        let group = try fields.optionalText("group").flatMap { $0.isEmpty ? nil : $0 }
        if let group, !Devices.canBe(group) {
            throw Problem(field: "group", "a group's name has 1 to \(Devices.longestName) characters")
        }
        let device = try fields.number("device", in: 1...Int64.max)
        guard group == nil || device == nil else {
            throw Problem(field: "group", "a rule is for a group or for one device, not both")
        }
        let webhook = try fields.optionalText("webhook")
        if let webhook, !webhook.isEmpty, let complaint = WebhookAddress.complaint(about: webhook) {
            throw Problem(field: "webhook", complaint)
        }
        var renews = false
        if let secret = try fields.optionalText("secret") {
            guard secret == "new" else {
                throw Problem(field: "secret", "secret is \"new\", or is left out: the server makes it")
            }
            renews = true
        }
        self.init(
            name: name, condition: try Self.condition(in: fields), group: group, device: device,
            webhook: webhook, secret: Webhook.newSecret(), renewsSecret: renews,
            mail: try Self.mail(in: fields),
            mailInterval: try fields.number("mail_interval_seconds", in: 60...86_400) ?? 300)
    }

    private static func condition(in fields: Fields) throws(Problem) -> AlertCondition {
        let kinds = AlertCondition.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        guard let kind = AlertCondition.Kind(rawValue: try fields.text("kind")) else {
            throw Problem(field: "kind", "kind is one of \(kinds)")
        }
        var condition = AlertCondition(kind)
        if let type = try fields.optionalText("type") {
            guard kind.types.contains(type) else {
                let types = kind.types.isEmpty ? "no type" : kind.types.joined(separator: ", ")
                throw Problem(field: "type", "\(kind.rawValue) has \(types)")
            }
            condition.type = type
        }
        if let fence = try fields.optionalText("fence"), !fence.isEmpty {
            guard kind == .geofence else { throw Problem(field: "fence", "only geofence has a fence") }
            guard Devices.canBe(fence) else {
                throw Problem(
                    field: "fence", "a fence's id has 1 to 100 characters, and no control characters")
            }
            condition.fence = fence
        }
        for other in AlertCondition.Kind.allCases {
            guard let limit = other.limit, other != kind || !fields.has(limit.name) else { continue }
            if fields.has(limit.name) {
                throw Problem(field: limit.name, "only \(other.rawValue) has \(limit.name)")
            }
            if other == kind { throw Problem(Fault(pointer: "/" + limit.name, reason: "is missing")) }
        }
        if let limit = kind.limit { condition.limit = try fields.number(limit.name, in: limit.range) ?? 0 }
        return condition
    }

    private static func mail(in fields: Fields) throws(Problem) -> [String] {
        guard fields.has("mail") else { return [] }
        guard let addresses = try fields.texts("mail", most: mostAddresses) else {
            throw Problem(field: "mail", "mail is a list of at most \(mostAddresses) addresses")
        }
        for address in addresses where MailAddress(address) == nil {
            throw Problem(field: "mail", "'\(address.prefix(80))' is no address such as ada@example.org")
        }
        return addresses
    }
}

/// Where a webhook goes.
enum WebhookAddress {
    private static let longest = 2000

    /// - Returns: what is wrong with it; nil: nothing.
    static func complaint(about text: String) -> String? {
        guard text.utf8.count <= longest else { return "a webhook has at most \(longest) bytes" }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }) else {
            return "a webhook has no spaces and nothing that is not ASCII: escape it"
        }
        guard let rest = rest(of: text) else { return "a webhook begins with https:// or http://" }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { return "a webhook has no #" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { return "a webhook has no name and password before its host" }
        let (host, port) = split(authority)
        guard isHost(host) else { return "the host of the webhook cannot be one" }
        if let port {
            guard let number = Int(port), (1...65_535).contains(number), port.allSatisfy(\.isNumber) else {
                return "the port of the webhook is none"
            }
        }
        return nil
    }

    /// Scheme and host: the rest may be a secret.
    static func shown(_ text: String) -> String {
        guard let rest = rest(of: text) else { return "…" }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        return text[..<end] + (end == rest.endIndex ? "" : "/…")
    }

    private static func rest(of text: String) -> Substring? {
        for scheme in ["https://", "http://"] where text.lowercased().hasPrefix(scheme) {
            return text.dropFirst(scheme.count)
        }
        return nil
    }

    private static func split(_ authority: Substring) -> (host: Substring, port: Substring?) {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            return (authority[...end], rest.isEmpty ? nil : rest.hasPrefix(":") ? rest.dropFirst() : "x")
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            return host.utf8.count > 3
                && host.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        return MailAddress.isDomain(host)
    }
}
