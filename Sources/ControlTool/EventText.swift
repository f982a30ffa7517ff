public import ControlProtocol

/// Events of the live stream as lines of text.
public enum EventText {
    /// The line, or two when events before this one were lost.
    public static func lines(_ event: Wire.Event, clock: Clock, palette: Palette) -> [String] {
        var lines: [String] = []
        if let missed = event.missed, missed > 0 {
            lines.append(palette.warning("\(Quantity.count(missed)) events lost: this reader was too slow"))
        }
        let time = event.location?.timestamp ?? event.geofenceEvent?.timestamp ?? clock.now.iso
        let word = Text.left(Text.safe(event.kind == "geofence_event" ? "geofence" : event.kind), 8)
        let line = "\(palette.faint(String(clock.local(time).suffix(8)))) \(palette.strong(word)) "
        lines.append(line + payload(event, palette: palette))
        return lines
    }

    private static func payload(_ event: Wire.Event, palette: Palette) -> String {
        if let location = event.location {
            // The usual trigger goes without saying, for the sake of 80 columns.
            let trigger = location.trigger == "interval" ? "" : " (\(Text.safe(location.trigger)))"
            return LocationText.phrase(location, decimals: 5) + palette.faint(trigger)
        }
        if let crossing = event.geofenceEvent {
            return "\(Text.safe(crossing.type)) \(Text.safe(crossing.geofenceId))"
        }
        if let state = event.state {
            return state == .tracking ? palette.good(state.rawValue) : state.rawValue
        }
        if let source = event.source { return StatusText.source(source, palette: palette) }
        if let sync = event.sync { return self.sync(sync, palette: palette) }
        if let auth = event.auth { return StatusText.auth(auth, palette: palette) }
        return ""
    }

    private static func sync(_ sync: Wire.SyncStatus, palette: Palette) -> String {
        let state = sync.state == .pending ? "" : StatusText.syncState(sync, palette: palette) + ", "
        var text = "\(state)\(Quantity.count(sync.pending)) pending"
        if let error = sync.lastError { text += ": " + Text.cut(Text.safe(error), to: 40) }
        return text
    }
}
