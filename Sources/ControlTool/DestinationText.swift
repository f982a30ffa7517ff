package import ControlProtocol

/// Destinations as a table, and the one that is meant.
package enum DestinationText {
    /// The header and one line per destination.
    ///
    /// - Parameter columns: on a terminal, whose table has 80 columns, long names are cut; nil leaves them whole.
    package static func table(
        _ destinations: [Wire.Destination], clock: LocalClock, palette: Palette, columns: Int?
    ) -> [String] {
        let names = destinations.map { Text.safe($0.name) }
        let longest = max(names.map(Text.columns).max() ?? 0, 14)
        let width = columns.map { min(longest, max($0 - 66, 14)) } ?? longest
        let table = Table(
            [
                .init(title: "NAME", width: width, worth: 9), .init(title: "FORMAT", width: 9, worth: 2),
                .init(title: "DELIVER", width: 7, worth: 1), .init(title: "STATE", width: 9, worth: 9),
                .init(title: "PENDING", width: 7, isRight: true, worth: 5),
                .init(title: "OLDEST", width: 7, isRight: true, worth: 3),
                .init(title: "LAST SUCCESS", width: 12, isRight: true, worth: 4),
                .init(title: "REJECTED", width: 8, isRight: true, worth: 3),
            ], width: columns.map { max($0, 30) })
        return [table.header]
            + zip(names, destinations).map { name, destination in
                let sync = destination.sync
                let word = word(destination)
                let line = table.row([
                    Text.fitted(name, width), Text.fitted(Text.safe(destination.format ?? "-"), 9),
                    Text.fitted(Text.safe(destination.deliver ?? "-"), 7), Text.fitted(word, 9),
                    Quantity.short(sync.pending), sync.oldestPending.map { brief($0, clock) } ?? "-",
                    sync.lastSuccess.map { brief($0, clock) } ?? "-", Quantity.short(sync.rejected),
                ])
                return coloured(word, in: line, after: width) {
                    destination.orphaned ? palette.warning($0) : StatusText.colour($0, of: sync, palette)
                }
            }
    }

    /// The word in its colour, where it first stands behind the name.
    private static func coloured(
        _ word: String, in line: String, after width: Int, _ colour: (String) -> String
    ) -> String {
        let name = line.prefix(width)
        guard let place = line[name.endIndex...].firstRange(of: word) else { return line }
        return line[..<place.lowerBound] + colour(word) + line[place.upperBound...]
    }

    private static func word(_ destination: Wire.Destination) -> String {
        destination.isAbandoned && !destination.isLatestOnly ? "orphaned" : destination.sync.state.rawValue
    }

    /// How long ago, in its largest unit alone: `33 min`.
    private static func brief(_ iso: String, _ clock: LocalClock) -> String {
        guard let seconds = clock.secondsSince(iso) else { return "?" }
        return Text.cut(
            Quantity.duration(seconds: seconds).split(separator: " ").prefix(2).joined(separator: " "), to: 7)
    }

    /// `home (owntracks): failed (auth), 120 pending, oldest 3 h 05 min ago`, in at most `width` columns.
    static func summary(
        _ destination: Wire.Destination, clock: LocalClock, palette: Palette, width: Int = 70
    ) -> String {
        let sync = destination.sync
        let format = destination.format.map { " (\(Text.cut(Text.safe($0), to: 20)))" } ?? ""
        var rest = sync.pending > 0 ? ", \(Quantity.count(sync.pending)) pending" : ", nothing pending"
        if sync.pending > 0, let oldest = sync.oldestPending { rest += ", oldest \(clock.age(oldest))" }
        if destination.isLatestOnly {
            rest =
                sync.pending > 0
                ? ", \(Quantity.count(sync.pending)) of before" : ", only the newest location"
        }
        if sync.heartbeat?.pausedUntil != nil { rest += ", no heartbeats" }
        let isLost = destination.isAbandoned && !destination.isLatestOnly
        let state = isLost ? "orphaned" : StatusText.syncWord(sync)
        let short = DestinationNames(destination.name).name
        // A long name and a long state leave no room for the format.
        let name = Text.columns(short + format + state) > width - 10 ? short + ": " : short + format + ": "
        rest = Text.cut(rest, to: width - Text.columns(name + state))
        return name
            + (isLost ? palette.warning(state) : StatusText.colour(state, of: sync, palette))
            + rest
    }

    /// What is lost when a destination is forgotten, as a question.
    package static func question(_ destination: Wire.Destination) -> String {
        let sync = destination.sync
        return
            "Forget \(DestinationNames(destination.name).name), and with it \(Quantity.count(sync.pending)) pending and "
            + "\(Quantity.count(sync.rejected)) rejected locations?"
    }
}

extension Wire.Destination {
    /// The destination gets the newest location alone, and has no queue.
    package var isLatestOnly: Bool { deliver == "latest" }

    /// What became of an orphan, and what can be done, in two sentences' worth: it is not configured any more, or gets only
    /// the newest location.
    package var orphanWords: (what: String, remedy: String) {
        let names = DestinationNames(name)
        let forget = "beekonctl destination forget \(names.name)"
        guard isLatestOnly else {
            return (
                "not configured any more", "put [\(names.table)] back into the configuration, or \(forget)"
            )
        }
        return (
            "only sent the newest location now", "set \(names.table).deliver = \"all\" again, or \(forget)"
        )
    }

    /// An orphan that somebody has to decide on. `main` without a url is one only while something waits for it.
    package var isAbandoned: Bool {
        orphaned && (name != DestinationNames.main || sync.pending > 0 || sync.rejected > 0)
    }
}

extension Wire.Status {
    /// - Parameter name: nil is `main`.
    /// - Throws: when there is none of this name.
    package func destination(named name: String?) throws(Failure) -> Wire.Destination {
        let name = name ?? DestinationNames.main
        if let found = destinations.first(where: { $0.name == name }) { return found }
        guard name == DestinationNames.main else { throw Failure(unknownDestination: name) }
        return Wire.Destination(name: name, orphaned: false, dropped: 0, sync: sync, auth: auth)
    }

    /// A destination that is not configured any more.
    ///
    /// - Throws: when there is none of this name, or when it is configured.
    package func orphan(named name: String) throws(Failure) -> Wire.Destination {
        let found = try destination(named: name)
        guard found.orphaned else {
            let table = DestinationNames(name).table
            throw Failure(
                "\(name) is configured: take [\(table)] out of the configuration, and beekonctl reload, first",
                exitCode: 65)
        }
        return found
    }
}

extension Failure {
    /// The failure for a name that no destination has.
    package init(unknownDestination name: String) {
        self.init("there is no destination \"\(name)\": beekonctl destinations lists them", exitCode: 64)
    }

    /// Converts an error of a verb that has named a destination. nil for all other errors.
    package init?(_ error: any Error, naming destination: String?) {
        if let destination, let error = error as? ControlError, error == .invalidParameter("destination") {
            self.init(
                "there is no destination \"\(destination)\", or it is not configured any more, or gets only the "
                    + "newest location: beekonctl destinations lists them", exitCode: 64)
        } else {
            self.init(error)
        }
    }
}
