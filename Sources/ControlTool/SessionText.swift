package import ControlProtocol

/// Sessions as a table of 80 columns.
package enum SessionText {
    /// The header and one line per session.
    ///
    /// - Parameter width: of the terminal; nil: all columns.
    package static func table(
        _ sessions: [Wire.Session], clock: LocalClock, units: Units = .metric, width: Int? = nil
    ) -> [String] {
        let table = Table(
            [
                .init(title: "SESSION", width: 36, worth: 1),
                .init(title: "STARTED (\(clock.zone.name))", width: 16, worth: 9),
                .init(title: "ENDED", width: 11, worth: 9),
                .init(title: "ROWS", width: 6, isRight: true, worth: 2),
                .init(title: units.long.name, width: 7, isRight: true, worth: 3),
            ], width: width)
        return [table.header]
            + sessions.map { session in
                table.row([
                    Text.cut(Text.safe(session.id), to: 36),
                    String(clock.local(session.startedAt).prefix(16)),
                    session.stoppedAt.map { ended($0, clock: clock) } ?? "under way",
                    Quantity.short(session.locations), length(session.distanceMeters, units),
                ])
            }
    }

    private static func length(_ meters: Double, _ units: Units) -> String {
        Quantity.fitting(units.long.count(meters), abs(meters) < 1000 ? 3 : 1, 7)
    }

    /// Without the year, which is nearly always that of the start.
    private static func ended(_ iso: String, clock: LocalClock) -> String {
        String(clock.local(iso).dropFirst(5).prefix(11))
    }
}
