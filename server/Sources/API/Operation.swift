internal import Alerts
internal import Base
internal import Envelope
internal import Forwards
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What the operator's verbs ask for.
struct Operation: Sendable {
    let store: Store
    let bodies: BodyReader
    let options: ServerOptions
    let clock: ClockKeeper
    let forwarder: Forwarder

    /// `GET /v1/doctor`: facts about the database and the set-up, for `beekon-server doctor` to judge.
    func facts(now: Timestamp) async throws -> Response {
        let facts = try await store.read { session throws(StoreError) in try Upkeep.facts(from: session) }
        let counts = try await store.read { session throws(StoreError) in
            try ["devices WHERE removed IS NULL", "users", "passwords", "removals"].map {
                rows throws(StoreError) in
                try session.run("SELECT count(*) FROM \(rows)").first?.first?.integer ?? 0
            }
        }
        let alerts = try await store.read { session throws(StoreError) in
            try AlertOutbox.facts(now: now, from: session)
        }
        var text = Array(#"{"program":"#.utf8)
        JSONString.append(facts.program, to: &text)
        text += Array(
            (#","schema":\#(facts.schema),"size":\#(facts.size),"durable":\#(facts.isDurable),"#
                + #""devices":\#(counts[0]),"users":\#(counts[1]),"passwords":\#(counts[2]),"removals":\#(counts[3]),"#
                + #""signs":\#(options.signingKey != nil)"#).utf8)
        if options.map != nil { text += Array(#","map":true"#.utf8) }
        for (name, trouble) in [
            ("damage", facts.damage), ("loss", facts.loss), ("map_trouble", options.mapTrouble),
        ] {
            guard let trouble else { continue }
            text += Array(#","\#(name)":"#.utf8)
            JSONString.append(trouble, to: &text)
        }
        text += Array(#","strays":["#.utf8)
        append(store.strays, to: &text)
        text.append(UInt8(ascii: "]"))
        if let citus = facts.citus { append(citus, to: &text) }
        try await append(copyOf: store, to: &text)
        text += Array(#","alerts":"#.utf8)
        append(alerts, to: &text)
        let forwards = try await store.read { session throws(StoreError) in try Outbox.facts(from: session) }
        append(forwards, to: &text)
        if let days = options.retentionDays { text += Array(#","retention_days":\#(days)"#.utf8) }
        text += Array(#","clock":\#(try await clock.text(now))}\#n"#.utf8)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    private func append(_ citus: Upkeep.Citus, to text: inout [UInt8]) {
        text += Array(#","citus":{"summary":"#.utf8)
        JSONString.append(citus.summary, to: &text)
        text += Array(#","troubles":["#.utf8)
        append(citus.troubles, to: &text)
        text += Array("]}".utf8)
    }

    private func append(_ sentences: [String], to text: inout [UInt8]) {
        for (place, sentence) in sentences.enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            JSONString.append(sentence, to: &text)
        }
    }

    /// How old what the standby says is, by the clock that servers note in the database each minute.
    private func append(copyOf store: Store, to text: inout [UInt8]) async throws {
        guard store.hasCopy else { return }
        let newest = try await store.read { session throws(StoreError) in
            try ClockRow.read(from: session).running
        }
        do throws(StoreError) {
            let copied = try await store.read(mayLag: true) { session throws(StoreError) in
                try ClockRow.read(from: session).running
            }
            text += Array(#","copy_lag_seconds":\#(max(0, newest - copied) / 1000)"#.utf8)
        } catch {
            text += Array(#","copy_trouble":"#.utf8)
            JSONString.append(error.message, to: &text)
        }
    }

    private func append(_ facts: AlertOutbox.Facts, to text: inout [UInt8]) {
        // A mail server that is elsewhere is needed by rules with mail alone.
        let remoteMail = facts.mailRules > 0 && options.mail.map { !$0.isLocal } ?? false
        text += Array(
            (#"{"mail_rules":\#(facts.mailRules),"mail_server":\#(options.mail != nil),"#
                + #""is_shut_in":\#(isShutIn(remoteMail || facts.remoteWebhooks > 0)),"#
                + #""failed":\#(facts.failed)"#).utf8)
        for (name, waiting) in [("webhooks", facts.webhooks), ("mails", facts.mails)] {
            text += Array(#","\#(name)":{"waiting":\#(waiting.count)"#.utf8)
            if let since = waiting.since { text += Array(#","since":"\#(since.iso8601)""#.utf8) }
            text.append(UInt8(ascii: "}"))
        }
        for (name, value) in [("reason", facts.reason), ("mail_trouble", options.mailTrouble)] {
            guard let value else { continue }
            text += Array(#","\#(name)":"#.utf8)
            JSONString.append(value, to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }

    /// - Parameter hasOthers: something else than batches is to be sent to another machine.
    private func isShutIn(_ hasOthers: Bool) -> Bool {
        options.isConfined && (hasOthers || options.forwards.contains { !$0.isLocal })
    }

    /// Targets that are configured, and those for which something waits all the same.
    private func append(_ facts: [String: Outbox.Facts], to text: inout [UInt8]) {
        let targets = Dictionary(uniqueKeysWithValues: forwarder.targets.map { ($0.name, $0) })
        let names = Set(targets.keys).union(facts.filter { $0.value.waiting.batches > 0 }.keys).sorted()
        text += Array(#","forwards":["#.utf8)
        for (place, name) in names.enumerated() {
            let facts = facts[name] ?? Outbox.Facts()
            let dropped = [Outbox.Result.tooOld, .tooMany].reduce(Int64(0)) {
                $0 + (facts.counts[$1]?.batches ?? 0)
            }
            if place > 0 { text.append(UInt8(ascii: ",")) }
            text += Array(
                (#"{"name":"\#(name)","is_configured":\#(targets[name] != nil),"#
                    + #""waiting":\#(facts.waiting.batches),"rows":\#(facts.waiting.rows),"bytes":\#(facts.size),"#
                    + #""forwarded":\#(facts.counts[.forwarded]?.batches ?? 0),"dropped":\#(dropped),"#
                    + #""refused":\#(facts.refused)"#).utf8)
            if let target = targets[name] {
                text += Array(#","full_percent":\#(forwarder.percent(of: facts, target))"#.utf8)
            }
            for (name, time) in [("since", facts.since), ("trouble_since", facts.trouble?.since)] {
                if let time { text += Array(#","\#(name)":"\#(time.iso8601)""#.utf8) }
            }
            for (name, value) in [("trouble", facts.trouble?.reason), ("refusal", facts.refusal)] {
                guard let value else { continue }
                text += Array(#","\#(name)":"#.utf8)
                JSONString.append(value, to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: "]"))
    }

    /// `POST /v1/backup` with `{"path":…}`: a copy of the database; answered when it is whole.
    func backup(_ request: Request) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let path = try fields.text("path")
        guard path.hasPrefix("/") else { throw Problem(field: "path", "path is not absolute") }
        // Of a thread that reads: those that write go on.
        try await store.read { session throws(StoreError) in try Upkeep.copy(to: path, from: session) }
        return Response(status: .noContent)
    }
}
