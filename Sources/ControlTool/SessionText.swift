package import ControlProtocol

/// Sessions as a table of 80 columns.
package enum SessionText {
    /// The header and one line per session.
    package static func table(_ sessions: [Wire.Session], clock: Clock) -> [String] {
        [row("SESSION", "STARTED (\(clock.zone.name))", "ENDED", "ROWS", "km")]
            + sessions.map { session in
                row(
                    Text.cut(Text.safe(session.id), to: 36),
                    String(clock.local(session.startedAt).prefix(16)),
                    session.stoppedAt.map { ended($0, clock: clock) } ?? "under way",
                    Quantity.short(session.locations), kilometers(session.distanceMeters))
            }
    }

    private static func kilometers(_ meters: Double) -> String {
        Quantity.fitting(meters / 1000, abs(meters) < 1000 ? 3 : 1, 7)
    }

    /// Without the year, which is nearly always that of the start.
    private static func ended(_ iso: String, clock: Clock) -> String {
        String(clock.local(iso).dropFirst(5).prefix(11))
    }

    private static func row(
        _ id: String, _ start: String, _ end: String, _ rows: String, _ length: String
    ) -> String {
        [
            Text.left(id, 36), Text.left(start, 16), Text.left(end, 11), Text.right(rows, 6),
            Text.right(length, 7),
        ].joined(separator: " ")
    }
}
