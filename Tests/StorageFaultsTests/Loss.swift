import Support

/// How a power cut treats what was not synced.
enum Loss: CaseIterable {
    /// Nothing is lost: only the process died.
    case nothing
    case everything
    /// What came first survives; the change at the cut is torn.
    case tail
    /// Each change survives or not, by itself.
    case any
    /// The same, and some are torn.
    case torn
    /// The same; of lost changes the file's new size survives.
    case sized
    /// The same, and some were being written.
    case garbled

    enum Fate { case kept, lost, torn, sized, garbled }

    /// How many of `count` changes, from the first on, survive where order is kept.
    func surviving(of count: Int, using random: inout SeededGenerator) -> Int {
        switch self {
        case .nothing: count
        case .everything: 0
        case .tail, .any, .torn, .sized, .garbled: Int.random(in: 0...count, using: &random)
        }
    }

    func fate(ofChange index: Int, cutAt cut: Int, using random: inout SeededGenerator) -> Fate {
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
