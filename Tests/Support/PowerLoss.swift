/// How a power cut treats what was written and not synced. Sectors have 512 bytes; one that was not being written is never
/// damaged.
package enum PowerLoss: CaseIterable, Sendable {
    case nothing
    case everything
    /// What came first survives; the write at the cut is torn.
    case tail
    /// Each write survives or not, by itself.
    case any
    /// As `any`, and some are torn.
    case torn
    /// As `any`; of some lost writes the file's new size survives, with zeros.
    case sized
    /// As `any`, and some sectors were being written when the voltage fell.
    case garbled

    /// What becomes of one change.
    package enum Fate: Sendable { case kept, lost, torn, sized, garbled }

    /// How many of `count` changes, from the first on, survive where order is kept.
    package func surviving(of count: Int, using random: inout SeededGenerator) -> Int {
        switch self {
        case .nothing: count
        case .everything: 0
        case .tail, .any, .torn, .sized, .garbled: Int.random(in: 0...count, using: &random)
        }
    }

    /// What becomes of one.
    ///
    /// - Parameter cut: the change at which the power fails, where order is kept.
    package func fate(ofChange index: Int, cutAt cut: Int, using random: inout SeededGenerator) -> Fate {
        switch self {
        case .nothing: .kept
        case .everything: .lost
        case .tail: index < cut ? .kept : index == cut ? .torn : .lost
        case .any: random.chance(0.5) ? .kept : .lost
        case .torn: random.chance(0.6) ? .kept : random.chance(0.5) ? .torn : .lost
        case .sized: random.chance(0.6) ? .kept : random.chance(0.7) ? .sized : .lost
        case .garbled: random.chance(0.8) ? .kept : random.chance(0.5) ? .garbled : .lost
        }
    }
}
