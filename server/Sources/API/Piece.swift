internal import ServerStore

/// What is written of a list at once, and all that is held of it: whatever its elements are, and however slow its reader is.
struct Piece {
    /// Bytes.
    static let longest = 64 << 10
    /// Bytes left for what stands behind the last element.
    private static let margin = 64

    /// An element of which earlier pieces have the beginning.
    struct Begun: Equatable {
        /// Bytes of it that have been written, of so many.
        var written: Int
        var length: Int
    }

    private(set) var bytes: [UInt8]
    /// What of the next element has been written, in this piece or before; nil: nothing.
    private(set) var begun: Begun?
    private var hasElements = false

    /// - Parameters:
    ///   - head: what stands before the first element.
    ///   - begun: as the piece before left it.
    init(head: [UInt8] = [], begun: Begun? = nil) {
        bytes = head
        self.begun = begun
    }

    /// Bytes that still have room.
    var room: Int { max(0, Self.longest - Self.margin - bytes.count) }

    /// Adds an element, or of one that is longer than a piece as much as has room.
    ///
    /// - Parameter element: the same as before, when it was begun by an earlier piece.
    /// - Returns: false when the next piece has to go on with it.
    /// - Throws: when it is another one: the list cannot be gone on with.
    mutating func add(_ element: [UInt8]) throws(StoreError) -> Bool {
        guard begun == nil || begun?.length == element.count else {
            throw StoreError(
                .failed, operation: "read a list", message: "an element has changed while it was written")
        }
        let rest = element.dropFirst(begun?.written ?? 0)
        guard rest.count > room else {
            bytes += rest
            begun = nil
            hasElements = true
            return true
        }
        guard !hasElements else { return false }
        let part = rest.prefix(room)
        bytes += part
        begun = Begun(written: part.endIndex, length: element.count)
        return false
    }

    /// Adds bytes that are no element, for which there is room.
    mutating func add(whole text: [UInt8]) {
        bytes += text
        hasElements = true
    }
}
