internal import Glibc

/// Requests over time as an SVG that can be read on light and dark ground.
package struct Chart {
    private let run: Run
    private let left = 64.0, right = 28.0, top = 44.0, bottom = 40.0
    private let width = 860.0, height = 320.0
    private let most: Double

    package init(_ run: Run) {
        self.run = run
        let windows = run.traffic.windows(run.window)
        let highest = Double(windows.max() ?? 0) / Double(run.window)
        let bound = run.plan.event == nil ? highest * (run.plan.scenario.bound ?? 1) : Self.bound(run) ?? 0
        most = Self.round(max(highest, bound, 1))
    }

    /// Requests a second that the bound allows at most where it is the same all the time.
    private static func bound(_ run: Run) -> Double? {
        run.plan.scenario.bound.map { $0 * run.peak.mean / Double(run.window) }
    }

    /// Up, to four steps of a round number.
    private static func round(_ value: Double) -> Double {
        let scale = pow(10, floor(log10(value / 4)))
        let step = [1, 2, 2.5, 5, 10].first { $0 * scale * 4 >= value } ?? 10
        return step * scale * 4
    }

    private var hours: Double { run.plan.hours }
    private var plotWidth: Double { width - left - right }
    private var plotHeight: Double { height - top - bottom }

    private func x(_ second: Double) -> Double { left + second / (hours * 3600) * plotWidth }
    private func y(_ rate: Double) -> Double { top + plotHeight - rate / most * plotHeight }

    private func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// The whole file.
    package var svg: String {
        let title = "\(run.plan.vehicles) vehicles, \(run.plan.scenario.rawValue)"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" role="img" \
            aria-label="Requests a second over time: \(title)">
            <style>
            svg { --ground: #fff; --text: #24292f; --soft: #57606a; --grid: #d8dee4; --mean: #0550ae; --band: #80b3e6; \
            --bound: #b35900; --shed: #cf222e; --event: #f0e6d8; background: var(--ground) }
            @media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --text: #e6edf3; --soft: #9198a1; \
            --grid: #30363d; --mean: #a5d6ff; --band: #2f6db0; --bound: #f0a04b; --shed: #ff7b72; --event: #2d2416 } }
            text { font: 12px system-ui, sans-serif; fill: var(--soft) }
            .title { font-size: 14px; font-weight: 600; fill: var(--text) }
            .grid { stroke: var(--grid); stroke-width: 1 }
            .line { fill: none; stroke-width: 1.5; stroke-linejoin: round }
            </style>
            <rect width="\(number(width))" height="\(number(height))" fill="var(--ground)"/>
            \(event)\(axes)\(band { $0.requests })\(curves)\(legend)
            <text x="\(number(left))" y="18" class="title">\(title)</text>
            </svg>

            """
    }

    // MARK: Axes

    private var axes: String {
        var marks = ""
        for part in 0...4 {
            let rate = most * Double(part) / 4
            let line = number(y(rate))
            marks += """
                <line x1="\(number(left))" y1="\(line)" x2="\(number(width - right))" y2="\(line)" class="grid"/>
                <text x="\(number(left - 8))" y="\(number(y(rate) + 4))" text-anchor="end">\(number(rate))</text>

                """
        }
        let step = hours <= 6 ? 0.5 : hours <= 12 ? 1.0 : 3.0
        for index in 0...Int(hours / step) {
            let hour = Double(index) * step
            let clock = (run.plan.startHour + hour).truncatingRemainder(dividingBy: 24)
            let minutes = Int((clock * 60).rounded()) % 60
            let place = number(x(hour * 3600))
            marks += """
                <line x1="\(place)" y1="\(number(height - bottom))" x2="\(place)" y2="\(number(height - bottom + 4))" \
                class="grid"/>
                <text x="\(place)" y="\(number(height - bottom + 18))" text-anchor="middle">\(Int(clock)):\(minutes < 10 ? "0" : "")\(minutes)</text>

                """
        }
        return marks + """
            <text x="\(number(left + plotWidth / 2))" y="\(number(height - 6))" text-anchor="middle">time of day</text>
            <text x="14" y="\(number(top + plotHeight / 2))" text-anchor="middle" \
            transform="rotate(-90 14 \(number(top + plotHeight / 2)))">requests per second</text>

            """
    }

    private var event: String {
        guard let event = run.plan.event else { return "" }
        return """
            <rect x="\(number(x(event.lowerBound)))" y="\(number(top))" \
            width="\(number(x(event.upperBound) - x(event.lowerBound)))" height="\(number(plotHeight))" fill="var(--event)"/>

            """
    }

    // MARK: Curves

    /// Windows that share a pixel.
    private var step: Int { max(Int(hours * 3600 / plotWidth), 1) }

    /// From the least to the most requests in a window, pixel by pixel.
    private func band(_ part: (Traffic.Second) -> UInt32) -> String {
        let windows = run.traffic.windows(run.window, of: part).map { Double($0) / Double(run.window) }
        var (upper, lower): ([String], [String]) = ([], [])
        for start in stride(from: 0, to: windows.count, by: step) {
            let slice = windows[start..<min(start + step, windows.count)]
            let place = number(x(Double(start)))
            upper.append("\(place),\(number(y(slice.max() ?? 0)))")
            lower.append("\(place),\(number(y(slice.min() ?? 0)))")
        }
        let points = (upper + lower.reversed()).joined(separator: " ")
        return
            "<polygon points=\"\(points)\" fill=\"var(--band)\" stroke=\"var(--band)\" stroke-width=\"1\"/>\n"
    }

    /// The average over `length` seconds, each compared with `factor`.
    private func average(
        _ length: Int, factor: Double = 1, color: String, dash: String = "",
        of part: (Traffic.Second) -> UInt32
    ) -> String {
        let seconds = run.traffic.seconds.count
        var sums = [0]
        for second in run.traffic.seconds { sums.append(sums[sums.count - 1] + Int(part(second))) }
        let points = stride(from: 0, through: seconds, by: max(step, 60)).map { second in
            let (from, to) = (max(second - length / 2, 0), min(second + length / 2, seconds))
            let rate = Double(sums[to] - sums[from]) / Double(max(to - from, 1)) * factor
            return "\(number(x(Double(second)))),\(number(y(min(rate, most))))"
        }
        return
            "<polyline points=\"\(points.joined(separator: " "))\" class=\"line\" stroke=\"var(--\(color))\""
            + (dash.isEmpty ? "" : " stroke-dasharray=\"\(dash)\"") + "/>\n"
    }

    private var curves: String {
        switch run.plan.scenario {
        case .day:
            return average(3600, color: "mean") { $0.requests }
                + average(3600, factor: run.plan.scenario.bound ?? 1, color: "bound", dash: "6 4") {
                    $0.requests
                }
        case .slowServer:
            return average(300, color: "mean") { $0.accepted }
                + average(300, color: "shed") { $0.shed + $0.lost }
        case .outage, .power, .network:
            guard let bound = Self.bound(run) else { return "" }
            let line = number(y(bound))
            return average(120, color: "mean") { $0.accepted } + """
                <line x1="\(number(left))" y1="\(line)" x2="\(number(width - right))" y2="\(line)" \
                stroke="var(--bound)" stroke-width="1.5" stroke-dasharray="6 4"/>

                """
        }
    }

    private var legend: String {
        var entries = [("band", "requests, from the least to the most in 10 s")]
        switch run.plan.scenario {
        case .day: entries += [("mean", "mean of the hour around"), ("bound", "bound: 1.3 × that mean")]
        case .slowServer: entries += [("mean", "accepted"), ("shed", "turned away")]
        case .outage, .power, .network:
            entries += [
                ("mean", "accepted"), ("bound", "bound: 2 × the mean before"), ("event", "while it lasts"),
            ]
        }
        var (place, text) = (left, "")
        for (color, words) in entries {
            text += """
                <rect x="\(number(place))" y="27" width="14" height="8" fill="var(--\(color))" stroke="var(--soft)" stroke-width="0.5"/>
                <text x="\(number(place + 19))" y="35">\(words)</text>

                """
            place += 19 + 6.1 * Double(words.count) + 18
        }
        return text
    }
}
