package import ControlTool

/// The result of one check, and what to do about it.
package struct Finding: Encodable, Sendable, Equatable {
    package enum Result: String, Encodable, Sendable {
        /// Nothing is wrong.
        case ok
        /// Wrong; the remedy says what to do.
        case failed
        /// Not applicable, or could not be checked.
        case skipped
    }

    /// What was checked, in a word or two.
    package let check: String
    package let result: Result
    package let text: String
    /// What to do; always present with `failed`, sometimes with `skipped`.
    package let remedy: String?

    static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, result: .ok, text: Text.safe(text), remedy: nil)
    }

    static func failed(_ check: String, _ text: String, _ remedy: String) -> Finding {
        Finding(check: check, result: .failed, text: Text.safe(text), remedy: Text.safe(remedy))
    }

    static func skipped(_ check: String, _ text: String, _ remedy: String? = nil) -> Finding {
        Finding(check: check, result: .skipped, text: Text.safe(text), remedy: remedy.map(Text.safe))
    }
}

/// All findings, from receiver to backend.
package struct Diagnosis: Encodable, Sendable {
    /// In the order in which a fix travels.
    package let findings: [Finding]

    package init(_ facts: Facts) {
        findings =
            [Checks.socket(facts), Checks.rights(facts), Checks.configuration(facts)]
            + [Checks.gpsd(facts), Checks.device(facts), Checks.modemManager(facts)]
            + [Checks.fix(facts), Checks.satellites(facts), Checks.receiverTime(facts)]
            + [Checks.vehicle(facts)].compactMap(\.self)
            + [Checks.clock(facts), Checks.clockSource(facts), Checks.writable(facts), Checks.space(facts)]
            + Checks.backend(facts) + Checks.destinations(facts) + Checks.homeAssistant(facts)
    }

    package var failures: Int { findings.count { $0.result == .failed } }

    /// The report as lines for a terminal of `width` columns.
    package func lines(width: Int, palette: Palette) -> [String] {
        // As wide as the names, of which destinations have long ones, but no more than a third of the terminal.
        let longest = findings.map { Text.columns($0.check) }.max() ?? 0
        let column = min(max(longest + 1, 16), max(width / 3, 16))
        var lines: [String] = []
        for finding in findings {
            lines += statement(of: finding, column: column, width: width, palette)
            for (index, part) in Text.wrap(finding.remedy ?? "", width: width - 4).enumerated() {
                lines.append((index == 0 ? palette.strong("  → ") : "    ") + part)
            }
        }
        return lines + ["", summary(palette)]
    }

    /// What was found, beside its name; below that where a word, or the name, has no room there.
    private func statement(of finding: Finding, column: Int, width: Int, _ palette: Palette) -> [String] {
        let sign =
            switch finding.result {
            case .ok: palette.good("✓")
            case .failed: palette.bad("✗")
            case .skipped: palette.faint("–")
            }
        let text = Text.cut(finding.text, to: 300)
        let room = width - column - 2
        let longest = text.split(separator: " ").map(Text.columns).max() ?? 0
        guard longest <= room || longest > width - 2, Text.columns(finding.check) < column else {
            return ["\(sign) \(finding.check)"] + Text.wrap(text, width: width - 2).map { "  " + $0 }
        }
        return Text.wrap(text, width: room).enumerated().map { index, part in
            (index == 0 ? "\(sign) \(Text.left(finding.check, column))" : Text.left("", column + 2)) + part
        }
    }

    private func summary(_ palette: Palette) -> String {
        switch failures {
        case 0: palette.good("Nothing is wrong.")
        case 1: palette.bad("1 thing is wrong.")
        default: palette.bad("\(failures) things are wrong.")
        }
    }
}

/// The checks. Each turns facts into one finding, with no other input.
enum Checks {}
