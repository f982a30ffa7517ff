/// What the machine's battery says, or its batteries together.
package struct Battery: Equatable, Sendable {
    package enum State: String, CaseIterable, Sendable {
        /// Nobody says, or it neither charges nor discharges and is not full.
        case unknown
        /// The battery is discharging.
        case unplugged
        case charging, full
    }

    /// 0…100.
    package var percent: Int
    package var state: State

    /// - Parameter percent: is kept within its range.
    package init(percent: Int, state: State) {
        self.percent = min(max(percent, 0), 100)
        self.state = state
    }

    /// 0…1.
    package var level: Double { Double(percent) / 100 }

    /// Whether external power charges it, or has charged it fully; nil where nothing tells.
    package var isCharging: Bool? {
        switch state {
        case .unknown: nil
        case .unplugged: false
        case .charging, .full: true
        }
    }
}

extension Battery {
    /// What one battery says of itself.
    package struct Reading: Equatable, Sendable {
        /// 0…100.
        package var percent: Int
        package var state: State
        /// What it holds when it is full, in any unit; nil where it does not say.
        package var capacity: Double?

        package init(percent: Int, state: State, capacity: Double? = nil) {
            self.percent = percent
            self.state = state
            self.capacity = capacity
        }
    }

    /// Several as one: the mean, weighted by what each holds where all say so. One that charges makes it charging, else one
    /// that discharges makes it unplugged; it is full when all are.
    package init?(_ readings: [Reading]) {
        guard !readings.isEmpty else { return nil }
        let known = readings.compactMap(\.capacity).filter { $0 > 0 && $0.isFinite }
        let weights =
            known.count == readings.count ? known : Array(repeating: 1, count: readings.count)
        let sum = zip(readings, weights).reduce(0) { $0 + Double($1.0.percent) * $1.1 }
        let states = Set(readings.map(\.state))
        let state: State =
            states.contains(.charging)
            ? .charging : states.contains(.unplugged) ? .unplugged : states == [.full] ? .full : .unknown
        self.init(percent: Int(exactly: (sum / weights.reduce(0, +)).rounded()) ?? 0, state: state)
    }
}
