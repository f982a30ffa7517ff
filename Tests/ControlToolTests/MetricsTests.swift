import ControlProtocol
import Testing

@testable import ControlTool

@Suite("metrics")
struct MetricsTests {
    @Test(
        "label values are escaped, and what a terminal would obey is made visible",
        arguments: [
            ("main", "main"), ("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"), ("a\nb", "a\\\\u{a}b"),
            ("\u{1B}[2J", "\\\\u{1b}[2J"), ("é", "é"), ("", ""),
        ])
    func escapes(value: String, expected: String) {
        #expect(MetricsWriter.escaped(value) == expected)
    }

    @Test(
        "numbers are written as Prometheus reads them",
        arguments: [
            (0.0, "0"), (30, "30"), (0.0025, "0.0025"), (-1.5, "-1.5"), (1e18, "1000000000000000000"),
            (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
        ])
    func numbers(value: Double, expected: String) {
        #expect(MetricsWriter.number(value) == expected)
    }

    @Test("a histogram is cumulative, and one whose lists do not belong together is left out")
    func histogram() {
        var writer = MetricsWriter()
        writer.addHistogram("x_seconds", "Help", bounds: [0.5, 1], counts: [1, 2, 3], sum: 4.5)
        writer.addHistogram("y_seconds", "Help", bounds: [0.5, 1], counts: [1, 2], sum: 4.5)
        #expect(
            writer.lines == [
                "# HELP beekond_x_seconds Help.", "# TYPE beekond_x_seconds histogram",
                "beekond_x_seconds_bucket{le=\"0.5\"} 1", "beekond_x_seconds_bucket{le=\"1\"} 3",
                "beekond_x_seconds_bucket{le=\"+Inf\"} 6", "beekond_x_seconds_sum 4.5",
                "beekond_x_seconds_count 6",
            ])
    }

    @Test("a count that no sum can hold does not end the tool")
    func overflow() {
        var writer = MetricsWriter()
        writer.addHistogram("x", "Help", bounds: [1], counts: [.max, .max], sum: .nan)
        #expect(writer.lines.last == "beekond_x_count -2")
    }

    @Test("what beekond does not know is missing, not nought")
    func unknown() {
        var writer = MetricsWriter()
        writer.add("a", .gauge, "Help", nil as Int?)
        writer.add("b", .gauge, "Help", [])
        #expect(writer.lines.isEmpty)
    }

    @Test("a word for a problem that this version does not know is shown as well")
    func unknownProblem() {
        var status = ScreenSamples.status
        status.degraded = ["gremlins", "storage"]
        let counters = Wire.Counters(
            unsettled: 0, notTracked: 0, refused: 0, requests: [],
            commits: .init(bounds: [], counts: [0], seconds: 0))
        let lines = MetricsText(status, counters).lines()
        #expect(lines.contains("beekond_degraded{subsystem=\"gremlins\"} 1"))
        #expect(lines.contains("beekond_degraded{subsystem=\"storage\"} 1"))
        #expect(lines.contains("beekond_degraded{subsystem=\"loss\"} 0"))
    }
}
