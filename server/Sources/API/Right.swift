internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// A right that may end while something is done with it: a body may take half a minute to come, and a list as long as its reader
/// likes.
enum Right {
    /// Throws when the right has ended meanwhile.
    typealias Confirm = @Sendable () async throws -> Void

    /// How long a right is taken for granted.
    static let trust = Duration.seconds(5)
}

/// The body of a request; when the last of it has come, whoever sent it must still have the right to what it asks for.
struct ConfirmedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let base: RequestBody
    let confirm: Right.Confirm

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: RequestBody.AsyncIterator
        fileprivate let confirm: Right.Confirm

        mutating func next() async throws -> ByteBuffer? {
            if let part = try await base.next() { return part }
            try await confirm()
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), confirm: confirm)
    }
}

/// Writes an answer as long as who takes it has the right to it; then it ends without its end.
struct ConfirmedWriter: ResponseBodyWriter {
    private var base: any ResponseBodyWriter
    private let confirm: Right.Confirm
    private var checked = ContinuousClock.now
    private var hasBegun = false
    /// Has more than one part, which may have been read at different times.
    private var hasParts = false

    init(_ base: any ResponseBodyWriter, _ confirm: @escaping Right.Confirm) {
        self.base = base
        self.confirm = confirm
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        if .now - checked > Right.trust {
            try await check()
            checked = .now
        }
        if buffer.readableBytes > 0 { (hasBegun, hasParts) = (true, hasBegun) }
        try await base.write(buffer)
    }

    consuming func finish(_ trailers: HTTPFields?) async throws {
        // Who may see nothing any more finds nothing in what is read next: the list would be short, and look whole.
        if hasParts { try await check() }
        try await base.finish(trailers)
    }

    private func check() async throws {
        do {
            try await confirm()
        } catch is StoreError {
            // A database that does not answer takes no right away.
        }
    }
}

extension ResponseBody {
    /// The body, as long as the right to it lasts.
    func confirmed(_ confirm: @escaping Right.Confirm) -> ResponseBody {
        ResponseBody { writer in try await self.write(ConfirmedWriter(writer, confirm)) }
    }
}
