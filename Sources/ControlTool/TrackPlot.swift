package import ControlProtocol
internal import Glibc

/// A track drawn in a terminal, with a scale and its extent. Angles are correct around its centre.
package struct TrackPlot {
    private struct Point {
        var latitude: Double
        /// Unwrapped at the antimeridian: 181 is one degree beyond it.
        var longitude: Double
        var beginsSession: Bool
    }

    private var points: [Point] = []
    private var session: String??
    /// Metres per degree of a great circle.
    private static let degree = TrackSummary.earthRadius * Double.pi / 180
    /// Smallest extent in metres: a vehicle that stood still is not magnified further.
    private static let leastExtent = 20.0
    /// Rows of a drawing that still shows something.
    private static let leastRows = 4

    package init() {}

    /// Adds the next location, in chronological order.
    package mutating func add(_ location: Wire.Location) {
        var longitude = location.longitude
        if let last = points.last {
            longitude = last.longitude + Self.wrapped(longitude - last.longitude)
        }
        points.append(
            Point(
                latitude: location.latitude, longitude: longitude,
                beginsSession: session != .some(location.sessionId)))
        session = .some(location.sessionId)
    }

    /// Normalises degrees to -180 ..< 180.
    static func wrapped(_ degrees: Double) -> Double {
        let turned = (degrees + 180).truncatingRemainder(dividingBy: 360)
        return (turned < 0 ? turned + 360 : turned) - 180
    }

    /// The drawing with its legend, in at most `columns` and `rows`.
    package func lines(
        _ summary: TrackSummary, columns: Int, rows: Int, clock: LocalClock, palette: Palette,
        units: Units = .metric
    ) -> [String] {
        guard !points.isEmpty else { return [] }
        let columns = min(max(columns, 20), 500)
        let places = points.map { ($0.latitude, $0.longitude) }
        let heading = { (palette: Palette) in title(summary, clock: clock, palette: palette, units) }
        let below = { (palette: Palette) in legend(summary, clock: clock, palette: palette) }
        var around = [
            Text.wrapStyled(heading(palette), width: columns), Self.joined(below(palette), width: columns),
        ]
        // What it says does not depend on how many rows it is drawn in.
        let whole = View(places, Braille(columns: columns, rows: Self.leastRows), least: Self.leastExtent)
        var extent = Text.wrap(whole.extent(units), width: columns)
        // The scale has a row, and the shell's prompt wants one, too.
        func left() -> Int { rows - around.joined().count - extent.count - 2 }
        if left() < Self.leastRows { extent = [] }
        // A colour must not lose its end.
        if left() < Self.leastRows {
            let plain = Palette(enabled: false)
            around = [heading(plain), below(plain).joined(separator: " ")].map { [Text.cut($0, to: columns)] }
        }
        var canvas = Braille(columns: columns, rows: min(max(left(), Self.leastRows), 200))
        let view = View(places, canvas, least: Self.leastExtent)
        draw(on: &canvas, view)
        mark(summary.stops, on: &canvas, view)
        let body = canvas.lines { letter in
            letter == "P" ? palette.warning("P") : palette.strong(String(letter))
        }
        return around[0] + body + [view.scaleBar(columns: columns, units)] + extent.map(palette.faint)
            + around[1]
    }

    private func draw(on canvas: inout Braille, _ view: View) {
        var last: (x: Int, y: Int)?
        for point in points {
            let here = view.dot(point.latitude, point.longitude)
            canvas.line(from: point.beginsSession ? here : last ?? here, to: here)
            last = here
        }
    }

    private func mark(_ stops: [Stop], on canvas: inout Braille, _ view: View) {
        for (point, letter) in [(points.first, "A"), (points.last, "B")] as [(Point?, Character)] {
            guard let point else { continue }
            let dot = view.dot(point.latitude, point.longitude)
            canvas.mark(dot.x, dot.y, letter)
        }
        for stop in stops {
            let dot = view.dot(
                stop.latitude, view.middle.longitude + Self.wrapped(stop.longitude - view.middle.longitude))
            canvas.mark(dot.x, dot.y, "P")
        }
    }

    private func title(
        _ summary: TrackSummary, clock: LocalClock, palette: Palette, _ units: Units
    ) -> String {
        let count = summary.locations == 1 ? "1 location" : "\(Quantity.count(summary.locations)) locations"
        var text = palette.strong("\(count), \(units.distance(summary.distanceMeters))")
        if let start = summary.start, let length = clock.length(from: start, to: summary.end) {
            text += " in \(length)"
        }
        if let speed = summary.highestSpeed { text += ", at most " + units.speedText(speed) }
        return text
    }

    private func legend(_ summary: TrackSummary, clock: LocalClock, palette: Palette) -> [String] {
        var parts: [String] = []
        if let start = summary.start { parts.append("\(palette.strong("A")) \(clock.local(start))") }
        if let end = summary.end { parts.append("\(palette.strong("B")) \(clock.local(end))") }
        if !summary.stops.isEmpty {
            let count = summary.stops.count
            parts.append("\(palette.warning("P")) \(count == 1 ? "1 stop" : "\(count) stops")")
        }
        return parts
    }

    /// Fills lines of `width` columns with the parts.
    private static func joined(_ parts: [String], width: Int) -> [String] {
        parts.reduce(into: []) { lines, part in
            if let last = lines.last, Text.styledColumns(last) + 3 + Text.styledColumns(part) <= width {
                lines[lines.count - 1] = last + "   " + part
            } else {
                lines += Text.wrapStyled(part, width: width)
            }
        }
    }
}

extension TrackPlot {
    /// Maps degrees to dots: equirectangular, with the length of a degree of longitude taken at the centre.
    fileprivate struct View {
        let middle: (latitude: Double, longitude: Double)
        private let half: (latitude: Double, longitude: Double)
        private let size: (width: Int, height: Int)
        private let metersPerDot: Double
        private let shrink: Double

        init(_ places: [(latitude: Double, longitude: Double)], _ canvas: Braille, least: Double) {
            let latitudes = places.map(\.latitude)
            let longitudes = places.map(\.longitude)
            let (south, north) = (latitudes.min() ?? 0, latitudes.max() ?? 0)
            let (west, east) = (longitudes.min() ?? 0, longitudes.max() ?? 0)
            middle = ((south + north) / 2, (west + east) / 2)
            half = ((north - south) / 2, (east - west) / 2)
            size = (canvas.width, canvas.height)
            // Bounded, since at a pole the whole world would collapse into one column.
            shrink = max(cos(middle.latitude * Double.pi / 180), 0.01)
            let across = max((east - west) * TrackPlot.degree * shrink, least)
            let down = max((north - south) * TrackPlot.degree, least)
            metersPerDot = max(across / Double(canvas.width - 1), down / Double(canvas.height - 1))
        }

        func dot(_ latitude: Double, _ longitude: Double) -> (x: Int, y: Int) {
            let x = (longitude - middle.longitude) * TrackPlot.degree * shrink / metersPerDot
            let y = (middle.latitude - latitude) * TrackPlot.degree / metersPerDot
            return (place(x, size.width), place(y, size.height))
        }

        /// Converts an offset from the centre to a dot; rounding may lead one dot beyond the edge.
        private func place(_ offset: Double, _ count: Int) -> Int {
            let position = (offset + Double(count - 1) / 2).rounded()
            return min(max(Int(exactly: position) ?? 0, 0), count - 1)
        }

        /// A bar of 1, 2 or 5 times a power of ten.
        func scaleBar(columns: Int, _ units: Units) -> String {
            let meters = metersPerDot * 2 * Double(columns) * 0.4
            // A thousand feet are less than a mile.
            let unit = meters < min(units.long.meters, units.short.meters * 1000) ? units.short : units.long
            let most = unit.count(meters)
            var length = pow(10, floor(log10(max(most, 1e-3))))
            for factor in [5.0, 2.0] where length * factor <= most {
                length *= factor
                break
            }
            let cells = max(Int((length * unit.meters / (metersPerDot * 2)).rounded()), 2)
            let text = (length < 1 ? Quantity.exact(length) : Quantity.fixed(length, 0)) + " " + unit.name
            let bar = "├" + String(repeating: "─", count: cells - 2) + "┤ \(text)"
            return bar + (Text.columns(bar) + 13 <= columns ? ", north is up" : "")
        }

        func extent(_ units: Units) -> String {
            func text(_ degrees: Double) -> String { Quantity.fixed(TrackPlot.wrapped(degrees), 5) }
            let height = half.latitude * 2 * TrackPlot.degree
            let width = half.longitude * 2 * TrackPlot.degree * shrink
            return "\(units.distance(width)) × \(units.distance(height)), "
                + "from \(text(middle.latitude - half.latitude)), \(text(middle.longitude - half.longitude)) "
                + "to \(text(middle.latitude + half.latitude)), \(text(middle.longitude + half.longitude))"
        }
    }
}
