import ServerStore
import Testing

@testable import API

@Suite("pieces of a list") struct PieceTests {
    /// Writes elements as a list does, and returns its pieces.
    private func pieces(_ elements: [[UInt8]], head: [UInt8] = []) throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var (next, begun): (Int, Piece.Begun?) = (0, nil)
        var first = head
        while next < elements.count {
            var piece = Piece(head: first, begun: begun)
            first = []
            while next < elements.count, try piece.add(elements[next]) { next += 1 }
            begun = piece.begun
            pieces.append(piece.bytes)
        }
        return pieces
    }

    @Test(
        "whatever the lengths of its elements, a list is whole and no piece is too long",
        arguments: [
            [0], [1], [65_000], [65_471, 1], [65_472, 1], [65_473, 1], [200_000], [10, 200_000, 10],
            [65_472, 65_472, 65_473, 3], [Int](repeating: 300, count: 1000), [400_000, 400_000],
        ])
    func whole(lengths: [Int]) throws {
        let elements = lengths.enumerated().map { index, length in
            [UInt8](repeating: UInt8(index % 250), count: length)
        }
        let pieces = try pieces(elements, head: [7, 7, 7])
        #expect(Array(pieces.joined()) == [7, 7, 7] + elements.joined())
        #expect(pieces.allSatisfy { $0.count <= Piece.longest - 64 })
    }

    @Test("an element that fits into a piece is not cut") func uncut() throws {
        let element = [UInt8](repeating: 1, count: 40_000)
        #expect(try pieces([element, element, element]).map(\.count) == [40_000, 40_000, 40_000])
    }

    @Test("a list whose element has changed in the middle is given up") func changed() throws {
        var piece = Piece()
        #expect(try piece.add([UInt8](repeating: 1, count: 100_000)) == false)
        var next = Piece(begun: piece.begun)
        #expect(throws: StoreError.self) { try next.add([UInt8](repeating: 1, count: 100_001)) }
    }
}
