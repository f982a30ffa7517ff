internal import Base
package import ControlProtocol

/// The status and its counters as metrics for Prometheus. No name ever changes its meaning: people build alerts on them.
package struct MetricsText {
    private let status: Wire.Status
    private let counters: Wire.Counters
    private var writer = MetricsWriter()

    /// Whether beekond can be asked. The others are missing when it cannot.
    private static let up = (name: "up", help: "Whether beekond answers on its control socket")

    package init(_ status: Wire.Status, _ counters: Wire.Counters) {
        self.status = status
        self.counters = counters
    }

    /// What is left to say when beekond does not answer.
    package static func down() -> [String] {
        var writer = MetricsWriter()
        writer.add(up.name, .gauge, up.help, 0)
        return writer.lines
    }

    /// One line for each sample, and two before each family.
    package func lines() -> [String] {
        var text = self
        text.addDaemon()
        text.addFixes()
        text.addReceiver()
        text.addStore()
        text.addDestinations()
        text.addRequests()
        return text.writer.lines
    }

    private mutating func addDaemon() {
        writer.add(Self.up.name, .gauge, Self.up.help, 1)
        writer.add(
            "build_info", .gauge, "The version that runs, as a label", [.init(1, ("version", status.version))]
        )
        writer.add("uptime_seconds", .gauge, "Time since beekond started", status.uptimeSeconds)
        let states: [Wire.State] = [.idle, .tracking, .stopped]
        writer.add(
            "tracking_state", .gauge, "1 for the state that it is in, 0 for the others",
            states.map { .init($0 == status.state ? 1 : 0, ("state", $0.rawValue)) })
        let known = ["storage", "loss", "files", "config", "clock", "source", "vehicle", "sync", "auth"]
        let wrong = Set(status.degraded)
        writer.add(
            "degraded", .gauge, "1 for what has a problem, which beekonctl status explains, 0 for the rest",
            (known + wrong.subtracting(known).sorted()).map {
                .init(wrong.contains($0) ? 1 : 0, ("subsystem", $0))
            })
        writer.add("geofences", .gauge, "Geofences that are watched", status.geofences)
    }

    private mutating func addFixes() {
        let gate = status.gate
        let results: [(String, Int)] = [
            ("admitted", gate.admitted), ("too_soon", gate.tooSoon), ("too_near", gate.tooNear),
            ("paused", gate.paused), ("unsettled", counters.unsettled),
            ("bad_time", status.source.refusedTimes), ("repeated", status.source.repeated ?? 0),
            ("not_tracked", counters.notTracked), ("refused", counters.refused),
        ]
        writer.add(
            "fixes_total", .counter, "What became of the fixes of the receiver",
            results.map { .init($1, ("result", $0)) })
        writer.add(
            "waiting_fixes", .gauge, "Admitted fixes that wait in memory until storage works",
            status.store.waitingInMemory)
        writer.add(
            "last_fix_timestamp_seconds", .gauge, "Time of the newest location, by the receiver",
            seconds(status.lastLocation?.timestamp))
    }

    private mutating func addReceiver() {
        let source = status.source
        writer.add(
            "receiver_satellites_used", .gauge, "Satellites in the latest solution", source.satellitesUsed)
        writer.add(
            "receiver_satellites_visible", .gauge, "Satellites in view", source.satellitesVisible)
        writer.add(
            "receiver_health", .gauge,
            "1 for the state of the receiver and of the way to it, 0 for the others",
            Wire.SourceHealth.allCases.map { .init($0 == source.health ? 1 : 0, ("state", $0.rawValue)) })
        writer.add(
            "receiver_reconnects_total", .counter, "Connections to gpsd after the first", source.reconnects)
    }

    private mutating func addStore() {
        let store = status.store
        writer.add("store_rows", .gauge, "Locations in the database", store.locations)
        writer.add("store_bytes", .gauge, "Size of the files of the database", store.bytes)
        let reasons: [(String, Int)] = [
            ("cap", store.droppedUnsent), ("age", store.pruned ?? 0),
            ("dead_letter_expired", store.expired ?? 0),
            ("storage_failed", store.refused),
        ]
        writer.add(
            "dropped_rows_total", .counter,
            "Rows lost without a backend having received them, across restarts",
            reasons.map { .init($1, ("reason", $0)) })
        let commits = counters.commits
        writer.addHistogram(
            "commit_seconds", "Time the database took to make a write permanent", bounds: commits.bounds,
            counts: commits.counts, sum: commits.seconds)
    }

    private mutating func addDestinations() {
        let all = status.destinations
        func each(_ value: (Wire.Destination) -> Int) -> [MetricsWriter.Sample] {
            all.map { .init(value($0), ("destination", $0.name)) }
        }
        func times(_ time: (Wire.Destination) -> String?) -> [MetricsWriter.Sample] {
            all.compactMap { destination in
                seconds(time(destination)).map { .init($0, ("destination", destination.name)) }
            }
        }
        writer.add(
            "pending_locations", .gauge,
            "Locations and geofence events that the destination has yet to accept",
            each(\.sync.pending))
        writer.add(
            "oldest_pending_timestamp_seconds", .gauge, "Fix time of the oldest of them",
            times(\.sync.oldestPending))
        writer.add(
            "last_success_timestamp_seconds", .gauge, "When a batch was last accepted, since beekond started",
            times(\.sync.lastSuccess))
        writer.add(
            "rejected_locations", .gauge, "Dead letters that are kept", each(\.sync.rejected))
        writer.add(
            "uploaded_rows_total", .counter, "Locations and geofence events that were accepted",
            each(\.sync.uploaded))
        writer.add(
            "sent_bytes_total", .counter, "Bytes of request bodies that were answered", each(\.sync.bytesSent)
        )
        writer.add(
            "unmatched_answers_total", .counter,
            "Answers that did not belong to the request under way, and were not believed",
            each { $0.sync.unmatchedAnswers ?? 0 })
        writer.add(
            "upload_failed", .gauge, "1 where waiting alone does not help, else 0",
            each { $0.sync.state == .failed ? 1 : 0 })
        writer.add(
            "destination_orphaned", .gauge, "1 where it is not configured any more, else 0",
            each { $0.orphaned ? 1 : 0 })
        writer.add(
            "token_failures", .gauge, "Token exchanges that have failed in a row", each(\.auth.failures))
        writer.add(
            "token_expiry_timestamp_seconds", .gauge, "When the access token expires", times(\.auth.expiresAt)
        )
    }

    private mutating func addRequests() {
        let names = Set(status.destinations.map(\.name))
        // Also the word that a dashboard of a new vehicle asks for before anything has failed.
        var samples: [MetricsWriter.Sample] = []
        for destination in status.destinations {
            let own = counters.requests.filter { $0.destination == destination.name }
            let known = own.map(\.code)
            samples += own.map { .init($0.count, ("destination", $0.destination), ("code", $0.code)) }
            samples += ["200", "tls", "timeout", "network"].filter { !known.contains($0) }.map {
                .init(0, ("destination", destination.name), ("code", $0))
            }
        }
        samples += counters.requests.filter { !names.contains($0.destination) }.map {
            .init($0.count, ("destination", $0.destination), ("code", $0.code))
        }
        writer.add(
            "requests_total", .counter, "Upload requests by HTTP status, or why there was none", samples)
    }

    private func seconds(_ iso: String?) -> Double? {
        iso.flatMap(LocalClock.utc).map { Double($0.milliseconds) / 1000 }
    }
}
