/// Finds what a misspelt name was meant to be.
package enum Nearest {
    /// The candidate with the fewest typing mistakes in between, if these are few for its length.
    package static func name(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 128 else { return nil }
        // As many mistakes as the lengths differ are the least that there can be.
        let near = candidates.filter { abs($0.utf8.count - name.utf8.count) <= tolerance($0) }
        let letters = Array(name.utf8)
        let ranked = near.map {
            (candidate: $0, distance: distance(letters, Array($0.utf8), limit: tolerance($0)))
        }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= tolerance(best.candidate) ? best.candidate : nil
    }

    /// Number of mistakes that leave the name recognisable.
    private static func tolerance(_ candidate: String) -> Int {
        max(2, candidate.utf8.count / 4)
    }

    /// Letters to insert, remove, replace or swap with their neighbour; beyond the limit more than it, but not how many.
    package static func distance(_ left: [UInt8], _ right: [UInt8], limit: Int = .max) -> Int {
        var before: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var line = [row + 1]
            for column in right.indices {
                let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(replaced, previous[column + 1] + 1, line[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, before[column - 1] + 1)
                }
                line.append(best)
            }
            before = previous
            previous = line
            // A swap reaches back over one line, so that it takes two of them to know.
            if let least = line.min(), let last = before.min(), min(least, last) > limit { return least }
        }
        return previous[right.count]
    }
}
