package import ControlProtocol

/// The status of the daemon on one screen of 80 columns, or of fewer where the terminal is narrower.
package struct StatusScreen {
    private let status: Wire.Status
    private let clock: LocalClock
    private let palette: Palette
    private let units: Units
    private let width: Int

    /// Columns that are used at most: longer lines are harder to read, not easier.
    private static let widest = 80
    /// Columns, in however many lines, of what is said of a destination besides the first.
    private static let longest = 200
    /// Columns of the names of rows.
    private static let labels = 10

    /// - Parameter width: of the terminal.
    package init(
        _ status: Wire.Status, clock: LocalClock, palette: Palette, units: Units = .metric, width: Int = 80
    ) {
        self.status = status
        self.clock = clock
        self.palette = palette
        self.units = units
        self.width = min(max(width, 20), Self.widest)
    }

    /// Columns for what is said.
    private var room: Int { width - Self.labels }

    /// The lines from top to bottom: the state, then what is wrong and what to do about it.
    ///
    /// - Parameter rows: that there is room for; nil: for any number. Where the whole does not fit, what is wrong comes
    ///   first, in a line each, and the rest may be cut.
    package func lines(rows: Int? = nil) -> [String] {
        let facts = facts()
        let advice = Advice.all(status, clock: clock)
        guard !advice.isEmpty else { return facts }
        let title = palette.bad("What is wrong, and what to do")
        let whole =
            facts + ["", title] + advice.flatMap { Text.wrap($0, width: width - 4).enumerated().map(bullet) }
        guard let rows, whole.count > rows else { return whole }
        // The state of tracking is worth more than any of them.
        let head = facts.prefix(Self.heading + state().count)
        let short = advice.map { palette.warning("! ") + Text.cut($0, to: width - 4) }
        return head + short + ["", palette.faint("beekonctl status says what to do.")]
            + facts.dropFirst(head.count)
    }

    private func facts() -> [String] {
        let up = Quantity.duration(seconds: Int64(status.uptimeSeconds))
        let version = Text.cut(Text.safe(status.version), to: 40)
        var lines = [palette.strong("beekond \(version)") + palette.faint(", up \(up)"), ""]
        lines += state()
        if let session = status.sessionId { lines += row("Session", [Text.cut(Text.safe(session), to: 70)]) }
        lines += row("Receiver", [StatusText.source(status.source, width: max(room, 40), palette: palette)])
        lines += row("Last fix", lastFix())
        if let metres = status.odometerMeters, metres > 0 {
            lines += row("Odometer", [OdometerText.line(metres, units: units)])
        }
        lines += row("Gate", gate())
        lines += row("Store", store())
        lines += row("Sync", sync())
        lines += row("Also to", others())
        lines += row("Commands", commands())
        if status.auth.state != "none" {
            lines += row("Token", AuthText.summary(status.auth, clock: clock, palette: palette))
        }
        if let vehicle = status.vehicle {
            lines += row("Vehicle", [VehicleText.summary(vehicle, palette: palette)])
        }
        if status.geofences > 0 { lines += row("Fences", ["\(status.geofences)"]) }
        return lines
    }

    /// Lines above the state.
    private static let heading = 2

    private func state() -> [String] {
        row("State", [StatusText.state(status, clock: clock, palette: palette)])
    }

    private func bullet(_ line: EnumeratedSequence<[String]>.Element) -> String {
        (line.offset == 0 ? palette.warning("! ") : "  ") + line.element
    }

    /// Where a word has no room beside the name of the row, all of it stands below that.
    private func row(_ label: String, _ values: [String]) -> [String] {
        let longest = values.flatMap { $0.split(separator: " ").map(Text.styledColumns) }.max() ?? 0
        let isBelow = longest > room && longest <= width - 2
        let lines = values.flatMap { Text.wrapStyled($0, width: isBelow ? width - 2 : room) }
        if isBelow { return [palette.faint(label)] + lines.map { "  " + $0 } }
        return lines.enumerated().map { index, line in
            palette.faint(Text.left(index == 0 ? label : "", Self.labels)) + line
        }
    }

    private func lastFix() -> [String] {
        guard let location = status.lastLocation else { return ["none yet"] }
        var quality = ""
        switch location.quality {
        case "low_accuracy": quality = ", " + palette.warning("inaccurate")
        case "implausible_speed": quality = ", " + palette.warning("an implausible leap")
        case let other?: quality = ", " + palette.warning(Text.cut(Text.safe(other), to: 20))
        case nil: break
        }
        return [
            LocationText.phrase(location, units: units),
            "\(clock.age(location.timestamp)), \(clock.local(location.timestamp))\(quality)",
        ]
    }

    private func gate() -> [String] {
        let gate = status.gate
        var parts = [
            "\(Quantity.count(status.source.fixes)) fixes: \(Quantity.count(gate.admitted)) admitted"
        ]
        for (count, why) in [(gate.tooSoon, "too soon"), (gate.tooNear, "too near"), (gate.paused, "paused")]
        {
            parts.append("\(Quantity.count(count)) \(why)")
        }
        // What never came to the gate; without it the sum would not be right.
        let others = [
            (gate.unsettled, "unsettled"), (gate.notTracked, "not tracked"),
            (status.source.repeated, "repeated"),
            (status.source.refusedTimes, "of a wrong time"),
        ]
        for case (let count?, let why) in others where count > 0 {
            parts.append("\(Quantity.count(count)) \(why)")
        }
        return Text.wrap(clauses: parts, width: room)
    }

    private func store() -> [String] {
        let store = status.store
        var text = "\(Quantity.count(store.locations)) locations, \(Quantity.bytes(store.bytes))"
        if store.waitingInMemory > 0 { text += ", \(Quantity.count(store.waitingInMemory)) wait in memory" }
        // Whatever the daemon sends, this must not trap.
        let lost = [store.droppedUnsent, store.refused, store.expired ?? 0].reduce(0, &+)
        if lost > 0 { text += ", \(Quantity.count(lost)) lost so far" }
        if let directory = store.directory { text += ", in \(Text.cut(Text.safe(directory), to: 200))" }
        return wrapped(store.degraded ? "failing" : "", text) { palette.bad($0) }
    }

    /// `word` in its colour, followed by the rest.
    private func wrapped(_ word: String, _ rest: String, colour: (String) -> String) -> [String] {
        guard !word.isEmpty else { return Text.wrap(rest, width: room) }
        var lines = Text.wrap(word + ", " + rest, width: room)
        if let first = lines.first { lines[0] = colour(word) + first.dropFirst(word.count) }
        return lines
    }

    private func sync() -> [String] {
        let sync = status.sync
        guard sync.state != .disabled else {
            guard others().isEmpty else { return ["disabled (no sync.url)"] }
            let kept = sync.pending > 0 ? "\(Quantity.count(sync.pending)) locations" : "locations"
            return ["disabled (no sync.url): \(kept) stay on this machine"]
        }
        var times: [String] = []
        let place = sync.lastSuccessElsewhere == true ? " (at another url)" : ""
        times.append("last success " + (sync.lastSuccess.map(clock.age) ?? "never") + place)
        if let attempt = sync.lastAttempt, attempt != sync.lastSuccess {
            times.append("last attempt \(clock.age(attempt))")
        }
        if let next = sync.nextAttempt {
            times.append((clock.secondsSince(next) ?? 0) >= 0 ? "next due now" : "next \(clock.age(next))")
        }
        let totals = [
            "\(Quantity.count(sync.uploaded)) uploaded", "\(Quantity.count(sync.rejected)) rejected",
            "\(Quantity.count(sync.retries)) retries", "\(Quantity.bytes(sync.bytesSent)) sent",
        ]
        var lines = pending() + Text.wrap(clauses: times, width: room)
        lines += Text.wrap(clauses: totals, width: room)
        lines += heartbeat()
        if let error = lastError() { lines.insert(contentsOf: error, at: pending().count) }
        return lines
    }

    private func heartbeat() -> [String] {
        guard let heartbeat = status.sync.heartbeat.map({ HeartbeatText($0, clock: clock) }) else {
            return []
        }
        return Text.wrap(heartbeat.phrase, width: room).map { heartbeat.isPaused ? palette.warning($0) : $0 }
    }

    private func others() -> [String] {
        status.destinations.filter { $0.name != DestinationNames.main }.map {
            DestinationText.summary($0, clock: clock, palette: palette, width: Self.longest)
        }
    }

    /// What is left to do for those of the servers.
    private func commands() -> [String] {
        // Whatever the daemon sends, this must not trap.
        func total(_ count: (Wire.SyncStatus) -> Int?) -> Int {
            status.destinations.reduce(0) { $0 &+ (count($1.sync) ?? 0) }
        }
        let parts = [
            (total(\.commands), "to be run"), (total(\.results), "done, their results to be sent"),
        ]
        let text = parts.filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
        return text.isEmpty ? [] : [text.joined(separator: ", ")]
    }

    private func pending() -> [String] {
        let sync = status.sync
        if status.destinations.contains(where: { $0.name == DestinationNames.main && $0.isLatestOnly }) {
            let kept = sync.pending > 0 ? "; \(Quantity.count(sync.pending)) are kept here" : ""
            return wrapped(StatusText.syncWord(sync), "only the newest location" + kept) {
                StatusText.colour($0, of: sync, palette)
            }
        }
        var text = sync.pending > 0 ? "\(Quantity.count(sync.pending)) pending" : "nothing pending"
        if sync.pending > 0, let oldest = sync.oldestPending {
            text += ", the oldest from \(clock.age(oldest))"
        }
        let word = sync.state == .pending && sync.pending > 0 ? "" : StatusText.syncWord(sync)
        return wrapped(word, text) { StatusText.colour($0, of: sync, palette) }
    }

    private func lastError() -> [String]? {
        let sync = status.sync
        let code = sync.lastHttpStatus.map { "HTTP \($0)" }
        guard let error = sync.lastError else {
            return sync.state == .failed ? code.map { ["the server answered \($0)"] } : nil
        }
        let isSaid = sync.lastHttpStatus.map { error.contains("\($0)") } ?? true
        let text =
            "last error: " + Text.cut(Text.safe(error), to: 400)
            + (isSaid ? "" : code.map { " (\($0))" } ?? "")
        return Text.wrap(text, width: room).map(palette.warning)
    }
}
