import Support
import Testing

@testable import Storage

/// Against sets of numbers as anybody would write them.
@Suite("sets of sequence numbers")
struct SeqSetTests {
    private static let universe = Int64(1)...40

    private static func naive(_ random: inout SeededGenerator) -> Set<Int64> {
        let density = Double.random(in: 0...1, using: &random)
        return Set(universe.filter { _ in random.chance(density) })
    }

    private static func set(_ numbers: Set<Int64>, _ random: inout SeededGenerator) -> SeqSet {
        var set = SeqSet()
        for number in numbers.shuffled(using: &random) { set.insert(number) }
        return set
    }

    private static func members(_ set: SeqSet) -> Set<Int64> { Set(universe.filter { set.contains($0) }) }

    @Test("are what sets are", arguments: [UInt64](1...200))
    func properties(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (one, two) = (Self.naive(&random), Self.naive(&random))
        let (left, right) = (Self.set(one, &random), Self.set(two, &random))
        #expect(Self.members(left) == one && left.count == one.count && left.isEmpty == one.isEmpty)
        #expect(left == SeqSet(one.shuffled(using: &random).map { $0...$0 }), "one way to write each")
        #expect(left.union(right) == Self.set(one.union(two), &random))
        #expect(left.intersection(right) == Self.set(one.intersection(two), &random))
        #expect(left.subtracting(right) == Self.set(one.subtracting(two), &random))
        #expect(left.isSuperset(of: right) == one.isSuperset(of: two))
        #expect(zip(left.ranges, left.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        #expect(SeqSet(text: left.text) == left)
        var open = left.union(.from(35))
        #expect(open.isOpen && open.contains(.max))
        #expect(SeqSet.everything.subtracting(open).subtracting(left).intersection(open).isEmpty)
        #expect(SeqSet.everything.subtracting(SeqSet.everything.subtracting(open)) == open)
        let end = Int64.random(in: Self.universe, using: &random)
        open.close(before: end)
        #expect(!open.isOpen && Self.members(open) == one.union(35...40).filter { $0 < end })
    }

    @Test("reach as far as numbers do")
    func ends() {
        #expect(SeqSet([.max ... .max, .min ... .min]).ranges.count == 2)
        #expect(SeqSet([.min ... -1, 0 ... .max]) == .everything)
        #expect(SeqSet.everything.subtracting(.everything).isEmpty)
        #expect(SeqSet([.max ... .max]).union(SeqSet([1...(Int64.max - 1)])) == .from(1))
        var last = SeqSet([.min...(Int64.max - 1)])
        last.insert(.max)
        #expect(last == .everything)
    }

    @Test(
        "a text that is none",
        arguments: ["1", "1 2 3", "2 1", "1 x", "1 2;2 3", "5 6;1 2", "1 9223372036854775807", "a b"])
    func text(text: String) {
        #expect(SeqSet(text: text) == nil)
    }
}
