internal import Base
package import ControlProtocol

/// Events of the live stream as lines of text.
package enum EventText {
    /// One line of at most `columns` columns, one more when earlier events were lost, and below those what a request has
    /// carried.
    package static func lines(
        _ event: Wire.Event, clock: LocalClock, palette: Palette, columns: Int = 80, units: Units = .metric
    ) -> [String] {
        var lines: [String] = []
        if let missed = event.missed, missed > 0 {
            lines.append(palette.warning("\(Quantity.count(missed)) events lost: this reader was too slow"))
        }
        let time =
            event.location?.timestamp ?? event.geofenceEvent?.timestamp ?? event.vehicleEvent?.timestamp
            ?? clock.now.iso8601
        let kind = event.kind == "geofence_event" ? "geofence" : event.vehicleEvent?.kind ?? event.kind
        let word = Text.fitted(Text.safe(kind), 8)
        let line = "\(palette.faint(String(clock.local(time).suffix(8)))) \(palette.strong(word)) "
        lines.append(line + payload(event, width: max(columns - 18, 10), palette: palette, units))
        if let body = event.http?.body { lines += body.isEmpty ? [] : [palette.faint(Text.safe(body))] }
        return lines
    }

    private static func payload(
        _ event: Wire.Event, width: Int, palette: Palette, _ units: Units
    ) -> String {
        if let location = event.location {
            return self.location(location, width: width, palette: palette, units)
        }
        if let crossing = event.geofenceEvent {
            return Text.cut("\(Text.safe(crossing.type)) \(Text.safe(crossing.geofenceId))", to: width)
        }
        if let happened = event.vehicleEvent {
            let subject = happened.subject.map { " " + Text.safe($0) } ?? ""
            return Text.cut(Text.safe(happened.type) + subject, to: width)
        }
        if let state = event.state { return self.state(state, event, width: width, palette: palette) }
        if let source = event.source { return StatusText.source(source, width: width, palette: palette) }
        let owner = owner(of: event)
        let room = width - Text.columns(owner)
        if let sync = event.sync { return owner + self.sync(sync, width: room, palette: palette) }
        if let auth = event.auth { return owner + StatusText.auth(auth, width: room, palette: palette) }
        if let command = event.command {
            let phrase = Text.cut(CommandText.phrase(command), to: room)
            return owner + (command.ok == false ? palette.warning(phrase) : phrase)
        }
        if let http = event.http { return owner + self.http(http, width: room, palette: palette) }
        return ""
    }

    /// Empty for `main`: most have no other.
    private static func owner(of event: Wire.Event) -> String {
        guard let name = event.destination, name != DestinationNames.main else { return "" }
        return Text.cut(Text.safe(name), to: 20) + ": "
    }

    /// `tracking (resumed) 0190c1a4-…`: the state, the reason and the session.
    private static func state(
        _ state: Wire.State, _ event: Wire.Event, width: Int, palette: Palette
    ) -> String {
        // Of a stop the reason says only whether it was a user's.
        let who = state == .tracking ? nil : StatusText.decider(event.decidedBy)
        let why = event.reason.map { " (\(Text.safe($0))\(who.map { ": " + $0 } ?? ""))" } ?? ""
        let session = event.sessionId.map { " " + Text.safe($0) } ?? ""
        let rest = Text.cut(why + session, to: width - state.rawValue.count)
        return (state == .tracking ? palette.good(state.rawValue) : state.rawValue) + palette.faint(rest)
    }

    /// Omits the trigger when it is the usual one, and merges that of a motion change with the motion. Any other
    /// trigger replaces the motion when there is no room for both.
    private static func location(
        _ location: Wire.Location, width: Int, palette: Palette, _ units: Units
    ) -> String {
        var location = location
        if location.trigger == "motion" { location.motion = "now " + location.motion }
        let phrase = LocationText.phrase(location, decimals: 5, units: units)
        guard !["interval", "motion"].contains(location.trigger) else { return Text.cut(phrase, to: width) }
        let trigger = "(\(Text.safe(location.trigger)))"
        let most = width - Text.columns(trigger) - 1
        guard Text.columns(phrase) > most, let comma = phrase.lastIndex(of: ",") else {
            return phrase + " " + palette.faint(trigger)
        }
        return Text.cut(phrase[..<comma] + " " + trigger, to: width)
    }

    /// `200 accepted, 35 ms, 1.2 kB, batch 0190c1a4-…, attempt 2`.
    private static func http(_ http: Wire.HttpRequest, width: Int, palette: Palette) -> String {
        let outcome = Text.cut((http.status.map { "\($0) " } ?? "") + Text.safe(http.outcome), to: 24)
        var rest = ", \(Quantity.count(http.milliseconds)) ms, \(Quantity.bytes(http.bytes))"
        if let batch = http.batch {
            // The attempt is worth more than the end of a long id.
            if let attempt = http.attempt, attempt > 1 { rest += ", attempt \(attempt)" }
            rest += ", batch \(Text.safe(batch))"
        } else {
            rest += ", token exchange"
        }
        // What was said is worth more than which batch it was.
        if let reason = http.reason { rest = ": " + Text.safe(reason) + rest }
        rest = Text.cut(rest, to: width - Text.columns(outcome))
        return (["accepted", "answered"].contains(http.outcome) ? outcome : palette.warning(outcome)) + rest
    }

    private static func sync(_ sync: Wire.SyncStatus, width: Int, palette: Palette) -> String {
        if sync.state == .disabled { return "disabled (no sync.url)" }
        let state = sync.state == .pending ? "" : StatusText.syncWord(sync)
        let counts = (state.isEmpty ? "" : ", ") + "\(Quantity.count(sync.pending)) pending"
        let error = sync.lastError.map { ": " + Text.safe($0) } ?? ""
        let rest = Text.cut(counts + error, to: width - Text.columns(state))
        return StatusText.colour(state, of: sync, palette) + rest
    }
}
