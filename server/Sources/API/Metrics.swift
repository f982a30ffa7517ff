internal import Alerts
internal import Base
internal import Forwards
internal import Hummingbird
internal import NIOCore
internal import ServerStore
internal import Synchronization

/// `GET /metrics`, in Prometheus' text format: this server's work, and what the fleet says in its heartbeats.
struct Metrics: Sendable {
    let store: Store
    let meters: Meters
    let clock: ClockKeeper
    let delivery: AlertDelivery
    let forwarder: Forwarder
    let tallies: FleetTallies

    /// Devices that are read at once, each with a status of up to 16 KiB.
    private static let page = 100
    /// Devices that have a line each; of more there are sums.
    private static let mostLines: Int64 = 10_000

    /// What is told of the devices that a viewer sees.
    private enum Fleet: Sendable {
        case lines(FleetSample)
        /// nil: they are being counted.
        case sums(FleetTally?, Timestamp?)
    }

    /// - Parameter query: as it stands behind the `?`; nil when there is none.
    func answer(for viewer: Viewer, _ query: Substring?, _ now: Timestamp) async throws -> Response {
        if let query, !query.isEmpty { return try await answer(for: viewer, only: Self.device(query)) }
        let fleet = try await fleet(of: viewer)
        let time = try await clock.facts(now)
        let alerts = try await store.read { session throws(StoreError) in
            try AlertOutbox.facts(now: now, from: session)
        }
        var text = MetricText()
        for (name, help, value) in [
            (
                "timestamp_seconds", "The clock of the server, or of the database if that is behind.",
                Double(time.wall.milliseconds) / 1000
            ),
            (
                "confirmed_timestamp_seconds", "The time by which stored data expires.",
                Double(time.confirmed.milliseconds) / 1000
            ),
            ("is_ahead", "1 while the clock is a day ahead of what is confirmed.", time.isAhead ? 1 : 0),
        ] {
            text.begin("beekon_server_clock_" + name, "gauge", help)
            text.add(value, [])
        }
        Self.append(meters.counts, to: &text)
        Self.append(meters.door, to: &text)
        Self.append(store.checks, isDamaged: store.damage != nil, to: &text)
        text.begin(
            "beekon_server_database_strays", "gauge",
            "PostgreSQL servers that answer and are not used: old primaries that have come back, other clusters."
        )
        text.add(Double(store.strays.count), [])
        text.begin(
            "beekon_server_groups_total", "counter", "Transactions that stored batches, each some of them.")
        text.add(Double(store.groups), [])
        Self.append(delivery.counts, alerts, at: time.wall, to: &text)
        if !forwarder.names.isEmpty { Self.append(forwarder, try await forwarder.facts(), to: &text) }
        let start = text
        return Response(
            status: .ok, headers: [.contentType: Self.mediaType],
            body: ResponseBody { writer in
                var text = start
                try await Self.append(fleet, to: &text) { try await writer.write(ByteBuffer(bytes: $0)) }
                try await writer.write(ByteBuffer(bytes: text.bytes))
                try await writer.finish(nil)
            })
    }

    /// `?device=17`: what is told of one.
    private func answer(for viewer: Viewer, only device: Int64) async throws -> Response {
        let samples = try await store.read { session throws(StoreError) in
            try Reading.samples(for: viewer, only: device, limit: 1, from: session)
        }
        guard !samples.isEmpty else { throw Problem.noDevice(device) }
        var text = MetricText()
        try await FleetSample(vehicles: samples.map { VehicleSample($0) }).append(to: &text) { _ in }
        return Response(
            status: .ok, headers: [.contentType: Self.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text.bytes)))
    }

    private static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    private static func device(_ query: Substring) throws(Problem) -> Int64 {
        guard query.hasPrefix("device="), let device = Int64(query.dropFirst("device=".count)), device > 0
        else {
            throw Problem(.badRequest, "The only parameter is device, the number of one.")
        }
        return device
    }

    private static func append(
        _ fleet: Fleet, to text: inout MetricText, write: ([UInt8]) async throws -> Void
    ) async throws {
        switch fleet {
        case .lines(let sample):
            text.begin("beekon_devices", "gauge", "Devices that may upload.")
            text.add(Double(sample.vehicles.count), [])
            try await sample.append(to: &text, write: write)
        case .sums(let tally, let time):
            guard let tally, let time else { return }
            text.begin("beekon_devices", "gauge", "Devices that may upload.")
            text.add(Double(tally.vehicles), [])
            text.begin(
                "beekon_devices_counted_timestamp_seconds", "gauge",
                "When the sums of the devices were counted: there are more than \(mostLines).")
            text.add(Double(time.milliseconds) / 1000, [])
            tally.append(to: &text)
        }
    }

    private static func append(_ counts: Meters.Counts, to text: inout MetricText) {
        text.begin("beekon_server_build_info", "gauge", "The version of this server.")
        text.add(1, [("version", ServerOptions.version)])
        text.begin("beekon_server_requests_total", "counter", "Requests answered, by path and status code.")
        for (request, count) in counts.requests.sorted(by: { $0.key < $1.key }) {
            text.add(Double(count), [("route", request.route), ("code", "\(request.code)")])
        }
        text.begin(
            "beekon_server_rows_total", "counter", "Locations and events of uploads, by what became of them.")
        for (result, count) in [
            ("stored", counts.rows.stored), ("duplicate", counts.rows.duplicates),
            ("expired", counts.rows.expired),
        ] {
            text.add(Double(count), [("result", result)])
        }
        text.begin(
            "beekon_server_reused_batch_ids_total", "counter",
            "Batches whose id had come before with other rows. They were stored.")
        text.add(Double(counts.reusedIDs), [])
        text.begin(
            "beekon_server_other_installations_total", "counter",
            "Installations that uploaded with the tokens of a device that is bound to another.")
        text.add(Double(counts.otherInstallations), [])
        text.begin(
            "beekon_server_ended_tokens_shown_total", "counter",
            "Refresh tokens that were shown after their end: overtaken by others within a minute, or late: copied, restored or stolen."
        )
        text.add(Double(counts.endedTokens.overtaken), [("when", "overtaken")])
        text.add(Double(counts.endedTokens.late), [("when", "late")])
        text.begin("beekon_server_batch_seconds", "histogram", "From a whole batch to its COMMIT.")
        var sum: UInt64 = 0
        for (index, count) in counts.batches.enumerated() {
            sum += count
            let bound = index < Meters.bounds.count ? LocationText.number(Meters.bounds[index]) : "+Inf"
            text.add(Double(sum), [("le", bound)], suffix: "_bucket")
        }
        text.add(counts.seconds, [], suffix: "_sum")
        text.add(Double(sum), [], suffix: "_count")
    }

    private static func append(_ checks: Store.Checks, isDamaged: Bool, to text: inout MetricText) {
        text.begin("beekon_server_database_is_damaged", "gauge", "1 when damage of the database was found.")
        text.add(isDamaged ? 1 : 0, [])
        text.begin(
            "beekon_server_database_checks_total", "counter",
            "Times that the database was looked through, after it was left open.")
        text.add(Double(checks.sound), [("result", "sound")])
        text.add(Double(checks.damaged), [("result", "damaged")])
    }

    private static func append(_ door: Doorman.Counts, to text: inout MetricText) {
        text.begin("beekon_server_connections_waiting", "gauge", "Connections that wait for a place.")
        text.add(Double(door.waiting.load(ordering: .relaxed)), [])
        text.begin(
            "beekon_server_connections_refused_total", "counter",
            "Connections that were sent away with a 503 before a place was free.")
        text.add(Double(door.refused.load(ordering: .relaxed)), [])
    }

    private static func append(
        _ counts: [AlertDelivery.Channel: DeliveryCounts], _ facts: AlertOutbox.Facts, at now: Timestamp,
        to text: inout MetricText
    ) {
        text.begin(
            "beekon_server_alerts_total", "counter",
            "Attempts of this server to send alerts, by what became of them: given_up ones are among those that failed."
        )
        for channel in AlertDelivery.Channel.allCases {
            let counts = counts[channel] ?? DeliveryCounts()
            for (result, count) in [
                ("accepted", counts.accepted), ("failed", counts.failed), ("given_up", counts.givenUp),
            ] {
                text.add(Double(count), [("channel", "\(channel)"), ("result", result)])
            }
        }
        let waiting = [("webhook", facts.webhooks), ("mail", facts.mails)]
        text.begin(
            "beekon_server_alerts_waiting", "gauge", "Alerts and mails that wait to be sent, of all servers.")
        for (channel, facts) in waiting { text.add(Double(facts.count), [("channel", channel)]) }
        text.begin(
            "beekon_server_alerts_waiting_seconds", "gauge", "For how long the oldest of these has waited.")
        for (channel, facts) in waiting {
            text.add(facts.since.map { max(0, now.seconds(since: $0)) } ?? 0, [("channel", channel)])
        }
    }

    private static func append(
        _ forwarder: Forwarder, _ facts: [String: Outbox.Facts], to text: inout MetricText
    ) {
        let prefix = "beekon_server_forward_"
        let all = forwarder.targets.map { (target: $0, facts: facts[$0.name] ?? Outbox.Facts()) }
        func add(
            _ name: String, _ type: String, _ help: String,
            _ value: (ForwardTarget, Outbox.Facts) -> Double
        ) {
            text.begin(prefix + name, type, help)
            for (target, facts) in all { text.add(value(target, facts), [("target", target.name)]) }
        }
        let (stored, tally) = (forwarder.stored, forwarder.tally)
        add("stored_batches_total", "counter", "Batches that this server has stored to be forwarded.") {
            _, _ in
            Double(stored.batches)
        }
        add("stored_rows_total", "counter", "Rows of these.") { _, _ in Double(stored.rows) }
        add("waiting_batches", "gauge", "Batches that wait to be forwarded, of all servers.") {
            _, facts in
            Double(facts.waiting.batches)
        }
        add("waiting_rows", "gauge", "Rows of these.") { _, facts in Double(facts.waiting.rows) }
        add("waiting_bytes", "gauge", "Bytes of these.") { _, facts in Double(facts.size) }
        add("waiting_seconds", "gauge", "For how long the oldest of these has waited.") {
            _, facts in
            forwarder.waited(facts)
        }
        add(
            "full_ratio", "gauge",
            "How much of what may wait does, by age or size: above 1 the oldest are dropped."
        ) { target, facts in Double(forwarder.percent(of: facts, target)) / 100 }
        add("refused_batches", "gauge", "Batches among these that are refused while others are not.") {
            _, facts in Double(facts.refused)
        }
        for (name, help, value) in [
            (
                "batches_total", "Batches that wait no more, of all servers, by what became of them.",
                \.batches
            ),
            ("rows_total", "Rows of these.", \.rows),
        ] as [(String, String, KeyPath<Outbox.Facts.Count, Int64>)] {
            text.begin(prefix + name, "counter", help)
            for (target, facts) in all {
                for result in Outbox.Result.allCases {
                    text.add(
                        Double((facts.counts[result] ?? Outbox.Facts.Count())[keyPath: value]),
                        [("target", target.name), ("result", result.rawValue)])
                }
            }
        }
        add("failures_total", "counter", "Attempts of this server that a target did not accept.") {
            target, _ in
            Double(tally.counts[.target(target.name)]?.failed ?? 0)
        }
        add("is_failing", "gauge", "1 while this server forwards, and the target accepts nothing.") {
            target, _ in
            tally.failing[.target(target.name)] == nil ? 0 : 1
        }
    }

    private func fleet(of viewer: Viewer) async throws -> Fleet {
        let (isLarge, scope) = try await store.read { session throws(StoreError) in
            (
                try Reading.hasMoreDevices(than: Self.mostLines, for: viewer, from: session),
                try viewer.scope(in: session)
            )
        }
        if isLarge {
            let last = tallies.last(of: scope)
            return .sums(last?.tally, last?.time)
        }
        var fleet = FleetSample()
        var last: Int64 = 0
        while true {
            let after = last
            // Parsed on the store's thread: 500 heartbeats take milliseconds.
            let samples = try await store.read { session throws(StoreError) in
                try Reading.samples(for: viewer, after: after, limit: Self.page, from: session).map {
                    VehicleSample($0)
                }
            }
            fleet.vehicles += samples
            guard samples.count == Self.page, let end = samples.last?.id else { return .lines(fleet) }
            last = end
        }
    }
}

/// Prometheus' text format, version 0.0.4.
struct MetricText {
    private(set) var bytes: [UInt8] = []
    private var name = ""

    /// - Returns: what was written so far, which is then no longer in it.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    mutating func begin(_ name: String, _ type: String, _ help: String) {
        self.name = name
        bytes += Array("# HELP \(name) \(help)\n# TYPE \(name) \(type)\n".utf8)
    }

    /// - Parameter labels: values without quotation marks, backslashes and line breaks: none of them is a user's.
    mutating func add(_ value: Double, _ labels: [(String, String)], suffix: String = "") {
        let list = labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
        let braces = list.isEmpty ? "" : "{\(list)}"
        bytes += Array("\(name)\(suffix)\(braces) \(LocationText.number(value))\n".utf8)
    }
}
