import Base
import DaemonConfiguration
import Glibc
import Storage
import Upload

/// What deliveries cost the disk, without a network: what the daemon's uploader has the store do.
extension Bench {
    /// How rows become requests, as far as the store is concerned.
    enum Shape {
        case batches(of: Int)
        /// A format with one row in a request, which is all in its parameters.
        case rows

        fileprivate var limit: Int {
            switch self {
            case .batches(let count): count
            case .rows: 1
            }
        }

        fileprivate var isOne: Bool {
            switch self {
            case .batches: false
            case .rows: true
            }
        }

        /// As long as compressed locations are, or as Traccar is sent it.
        fileprivate func request(_ draft: BatchDraft) -> StoredRequest {
            switch self {
            case .batches: StoredRequest(body: [UInt8](repeating: 7, count: 60 * draft.locations.count))
            case .rows:
                StoredRequest(
                    format: Format.osmand.rawValue,
                    head: draft.locations.first.flatMap {
                        OsmAndFormat(.init(deviceID: "van1")).request($0, extras: nil).head
                    }, body: [])
            }
        }
    }

    /// Stores fixes, `batch` at a time, each of which every destination then gets in one request.
    func cycles(_ count: Int, batch: Int, destinations: Int) throws -> Cost {
        try measured { cost in
            for _ in 0..<count / batch {
                for _ in 0..<batch { _ = try store.insert(next()) }
                for name in Self.names(destinations) { _ = try deliver(.batches(of: batch), to: name) }
                cost.fixes += batch
            }
        }
    }

    /// Delivers the rows that are there to `main`, but for those of the first requests, which warm up.
    func deliveries(_ shape: Shape) throws -> Cost {
        _ = try deliver(shape, to: .main, most: 1000)
        return try measured { $0.fixes += try deliver(shape, to: .main) }
    }

    private func measured(_ body: (inout Cost) throws -> Void) throws -> Cost {
        sync()
        let (bytes, cpu) = (bytesWritten(), Self.cpuTime())
        var cost = Cost(times: [], bytes: nil, log: 0)
        try body(&cost)
        cost.cpu = Self.cpuTime() - cpu
        let difference = bytes.flatMap { begin in bytesWritten().map { $0 - begin } }
        cost.bytes = difference == 0 ? nil : difference
        return cost
    }

    /// One drain: each request is frozen with the acknowledgement of the one before.
    ///
    /// - Returns: how many rows have left.
    private func deliver(_ shape: Shape, to name: DestinationName, most: Int = .max) throws -> Int {
        guard let first = try store.draftBatch(for: name, limit: shape.limit, asOne: shape.isOne) else {
            return 0
        }
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let time = Timestamp(milliseconds: 1_800_000_000_000)
        var frozen = try store.freeze(first, id: ids.next(at: time), shape.request(first))
        var rows = 0
        while let batch = frozen {
            rows += batch.locations
            guard rows < most,
                let next = try store.draftBatch(limit: shape.limit, asOne: shape.isOne, after: batch)
            else {
                _ = try store.acknowledge(batch)
                return rows
            }
            _ = try store.acknowledge(
                batch, freezing: next, id: ids.next(at: time), shape.request(next))
            frozen = try store.nextFrozen(for: name)
        }
        return rows
    }
}
