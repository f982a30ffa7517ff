internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore
internal import Synchronization

/// Answers that are read from the database piece by piece, each when the one before has been taken. Nothing of the database is
/// held in between.
struct Lists: Sendable {
    let store: Store
    /// Bytes that all answers may hold at once.
    let budget: ByteBudget

    /// Adds what comes next to a piece.
    ///
    /// - Returns: whether that was the last of it.
    typealias Step<State> = @Sendable (inout State, inout Piece, any Session) throws(StoreError) -> Bool

    private struct Page<State: Sendable>: Sendable {
        /// The only copy, however long it waits for a slow reader.
        var text: ByteBuffer
        var state: State
        var begun: Piece.Begun?
        var isLast: Bool
    }

    /// An answer whose first piece has been read: what fails then fails before its head.
    ///
    /// - Parameters:
    ///   - state: where the list begins.
    ///   - head: what stands before its first element.
    ///   - tail: what stands behind its last, 64 bytes at most.
    ///   - mayLag: it may be read from a standby: it is of what vehicles have sent, and nobody has just changed it.
    func answer<State: Sendable>(
        _ mediaType: String, from state: State, head: [UInt8] = [], tail: [UInt8] = [], mayLag: Bool = false,
        _ step: @escaping Step<State>
    ) async throws -> Response {
        // One that is being taken, and one that may wait behind it.
        let lease = try take(2 * Piece.longest)
        let first = try await read(Piece(head: head), state, tail, mayLag, step)
        // Held once, not as long as the answer lasts.
        let waiting = Mutex<Page<State>?>(first)
        return Response(
            status: .ok, headers: [.contentType: mediaType],
            body: ResponseBody { [self] writer in
                var next = waiting.withLock { page in
                    defer { page = nil }
                    return page
                }
                while let page = next {
                    let (state, begun) = (page.state, page.begun)
                    next = nil
                    // Returns when it has been taken.
                    try await writer.write(page.text)
                    if !page.isLast { next = try await read(Piece(begun: begun), state, tail, mayLag, step) }
                }
                try await writer.finish(nil)
                withExtendedLifetime(lease) {}
            })
    }

    /// - Throws: a 503 when there is no room for as many bytes.
    func take(_ bytes: Int) throws -> ByteBudget.Lease {
        guard let lease = budget.take(bytes) else {
            var random = SystemRandomNumberGenerator()
            throw Problem.busy(using: &random)
        }
        return lease
    }

    /// Texts are made on the store's thread: of what it reads, no more is ever held than there are such threads.
    private func read<State: Sendable>(
        _ piece: Piece, _ state: State, _ tail: [UInt8], _ mayLag: Bool, _ step: @escaping Step<State>
    ) async throws -> Page<State> {
        try await store.read(mayLag: mayLag) { session throws(StoreError) in
            var (piece, state) = (piece, state)
            let isLast = try step(&state, &piece, session)
            if isLast { piece.add(whole: tail) }
            return Page(
                text: ByteBuffer(bytes: piece.bytes), state: state, begun: piece.begun, isLast: isLast)
        }
    }
}

/// Cuts what is written into pieces, each of which waits until the one before has been taken: of an answer, no more is ever
/// held for a connection.
struct PieceWriter: ResponseBodyWriter {
    private var base: any ResponseBodyWriter

    init(_ base: any ResponseBodyWriter) {
        self.base = base
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while let piece = rest.readSlice(length: min(Piece.longest, rest.readableBytes)),
            piece.readableBytes > 0
        {
            try await base.write(piece)
            // Nothing, which passes when the connection has none of the piece left.
            try await base.write(ByteBuffer())
        }
        // Whoever writes nothing says that there is more to come.
        if buffer.readableBytes == 0 { try await base.write(buffer) }
    }

    consuming func finish(_ trailers: HTTPFields?) async throws {
        try await base.finish(trailers)
    }
}

extension ResponseBody {
    /// Short ones go out with their head, as one.
    private static let short = 4 << 10

    /// The body, written in pieces.
    var inPieces: ResponseBody {
        if let contentLength, contentLength <= Self.short { return self }
        return ResponseBody(contentLength: contentLength) { writer in
            try await self.write(PieceWriter(writer))
        }
    }
}
