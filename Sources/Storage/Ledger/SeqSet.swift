/// A set of sequence numbers as ranges, the last of which may be open: what a destination is owed, or what a batch holds,
/// is a few ranges however many rows there are.
struct SeqSet: Equatable, Sendable {
    /// Ascending; no two touch or overlap. One that ends at `Int64.max` is open: it holds what is still to come.
    private(set) var ranges: [ClosedRange<Int64>] = []

    static let everything = SeqSet([.min ... .max])

    init() {}

    /// The ranges may come in any order, and may overlap.
    init(_ ranges: some Sequence<ClosedRange<Int64>>) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, last.upperBound == .max || range.lowerBound <= last.upperBound + 1
            {
                self.ranges[self.ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                self.ranges.append(range)
            }
        }
    }

    /// All from this number on, also those that are still to come.
    static func from(_ first: Int64) -> SeqSet { SeqSet([first ... .max]) }

    var isEmpty: Bool { ranges.isEmpty }
    var isOpen: Bool { ranges.last?.upperBound == .max }

    /// The number of its members; not to be asked of an open one.
    var count: Int { ranges.reduce(0) { Int(clamping: Int64($0) &+ ($1.upperBound &- $1.lowerBound &+ 1)) } }

    func contains(_ seq: Int64) -> Bool {
        // The first range that does not end before it.
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < seq { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= seq
    }

    mutating func insert(_ seq: Int64) {
        // Rows are mostly added in order.
        guard let last = ranges.last, last.upperBound < seq else {
            if !contains(seq) { formUnion(SeqSet([seq...seq])) }
            return
        }
        if last.upperBound + 1 == seq {
            ranges[ranges.count - 1] = last.lowerBound...seq
        } else {
            ranges.append(seq...seq)
        }
    }

    mutating func formUnion(_ other: SeqSet) {
        if !other.isEmpty { self = SeqSet(ranges + other.ranges) }
    }

    func union(_ other: SeqSet) -> SeqSet {
        var result = self
        result.formUnion(other)
        return result
    }

    func intersection(_ other: SeqSet) -> SeqSet {
        var result = SeqSet()
        var (own, others) = (0, 0)
        while own < ranges.count, others < other.ranges.count {
            let (left, right) = (ranges[own], other.ranges[others])
            let low = max(left.lowerBound, right.lowerBound)
            let high = min(left.upperBound, right.upperBound)
            if low <= high { result.ranges.append(low...high) }
            if left.upperBound < right.upperBound { own += 1 } else { others += 1 }
        }
        return result
    }

    mutating func subtract(_ other: SeqSet) {
        self = subtracting(other)
    }

    func subtracting(_ other: SeqSet) -> SeqSet { intersection(other.complement) }

    /// Everything else.
    private var complement: SeqSet {
        var result = SeqSet()
        var next: Int64? = .min
        for range in ranges {
            if let low = next, low < range.lowerBound { result.ranges.append(low...range.lowerBound - 1) }
            next = range.upperBound == .max ? nil : range.upperBound + 1
        }
        if let low = next { result.ranges.append(low ... .max) }
        return result
    }

    /// Holds nothing from this number on.
    mutating func close(before seq: Int64) {
        subtract(.from(seq))
    }

    func isSuperset(of other: SeqSet) -> Bool { other.subtracting(self).isEmpty }
}

// MARK: As text

extension SeqSet {
    /// Written as `first last`, separated by semicolons; nil when there are none. An open range has no place in it.
    var text: String? {
        ranges.isEmpty ? nil : ranges.map { "\($0.lowerBound) \($0.upperBound)" }.joined(separator: ";")
    }

    /// - Returns: nil for what `text` does not write: a damaged file may hold anything.
    init?(text: String?) {
        self.init()
        for part in (text ?? "").split(separator: ";") {
            let numbers = part.split(separator: " ").map { Int64($0) }
            guard numbers.count == 2, let first = numbers[0], let last = numbers[1], first <= last,
                last < .max, ranges.last.map({ $0.upperBound < first }) ?? true
            else { return nil }
            ranges.append(first...last)
        }
    }
}
