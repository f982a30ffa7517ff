/// Families of metrics as lines in the text format of Prometheus (version 0.0.4).
struct MetricsWriter {
    /// What a family is.
    enum Kind: String {
        case counter, gauge, histogram
    }

    /// One value, with the labels that tell it from its siblings.
    struct Sample {
        var labels: [(name: String, value: String)]
        var value: Double
        /// For a sample of a histogram: `_bucket`, `_sum`, `_count`.
        var suffix = ""

        init(_ value: Double, _ labels: (name: String, value: String)..., suffix: String = "") {
            self.labels = labels
            self.value = value
            self.suffix = suffix
        }

        init(_ value: Int, _ labels: (name: String, value: String)...) {
            self.labels = labels
            self.value = Double(value)
        }
    }

    private(set) var lines: [String] = []

    /// A family without samples is left out.
    ///
    /// - Parameters:
    ///   - name: without `beekond_`.
    ///   - help: one sentence, without its full stop.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        lines.append("# HELP beekond_\(name) \(help).")
        lines.append("# TYPE beekond_\(name) \(kind.rawValue)")
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
            let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
            lines.append("beekond_\(name)\(sample.suffix)\(list) \(Self.number(sample.value))")
        }
    }

    /// Adds a metric with one value, which may be missing.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
        add(name, kind, help, value.map { [Sample($0)] } ?? [])
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int?) {
        add(name, kind, help, value.map { Double($0) })
    }

    /// - Parameters:
    ///   - counts: how many for each bound and not for one before it; last, how many beyond all. Nothing is added when
    ///     the lists do not belong together.
    ///   - sum: of all that was measured.
    mutating func addHistogram(
        _ name: String, _ help: String, bounds: [Double], counts: [Int], sum: Double
    ) {
        guard counts.count == bounds.count + 1 else { return }
        var samples: [Sample] = []
        var total = 0
        for (bound, count) in zip(bounds.map(Self.number) + ["+Inf"], counts) {
            // Whatever the daemon sends, this must not trap.
            total &+= count
            samples.append(Sample(Double(total), ("le", bound), suffix: "_bucket"))
        }
        samples.append(Sample(sum, suffix: "_sum"))
        samples.append(Sample(Double(total), suffix: "_count"))
        add(name, .histogram, help, samples)
    }

    /// Whole numbers without a point: `30`, `0.0025`.
    static func number(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    /// What is dangerous for a terminal or would end the line is made visible; then the format's own escapes.
    static func escaped(_ value: String) -> String {
        var text = ""
        for character in Text.safe(value).unicodeScalars {
            if character == "\\" || character == "\"" { text += "\\" }
            text.unicodeScalars.append(character)
        }
        return text
    }
}
