internal import Base
internal import Commands
internal import EnvelopeReader
internal import Fences
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServerStore

/// `POST /v1/batches`: answered when what it brought can no longer be lost.
struct Ingest: Sendable {
    let store: Store
    let bodies: BodyReader
    let limits = Limits()
    let retentionDays: Int?
    /// For which ids of batches are remembered.
    let batchDays: Int
    let commands: CommandText
    let meters: Meters
    let clock: ClockKeeper
    let watch: AlertWatch
    let delivery: AlertDelivery
    let forwarder: Forwarder
    let fences: FenceKeeper
    let logger: Logger

    func answer(
        _ request: Request, from device: Int64, _ identity: Identity, now: Timestamp
    ) async throws -> Response {
        // What would wait too long is refused before its body costs anything.
        try store.admit()
        let (batch, forwarding, lease) = try await batch(of: request)
        try judge(batch, from: device, now: now)
        let start = ContinuousClock.now
        var submission = submission(of: batch, from: device, identity, now: now)
        submission.forwarding = forwarding
        var receipt = try await store.submit(submission)
        guard !receipt.isRefused else { throw Problem.unauthorized }
        meters.note(receipt, after: .now - start)
        if receipt.hasAlerts { delivery.wake() }
        if forwarding != nil, receipt.stored > 0 { forwarder.note(rows: receipt.stored) }
        if let other = receipt.otherInstallation, let isLast = meters.isWorthALine(for: device) {
            let rest = isLast ? ". More of this device are counted and not logged" : ""
            logger.warning(
                "device \(device): the installation \(other) uploads with its tokens and is not the one that it is bound to: its rows are stored, it gets no commands. If it is the vehicle, confirm it on the page, or give the vehicle new tokens\(rest)"
            )
        }
        if receipt.hasOtherRows, meters.isFirstReuse(by: device) {
            logger.warning(
                "device \(device): the batch id \(batch.id) came again with other rows, which are stored. Its next ones are counted and not logged: whoever sends must give each batch an id of its own"
            )
        }
        withExtendedLifetime(lease) {}
        if !receipt.isOfOther, let offer = await fences.orders(for: upload(submission)) {
            (receipt.commands, receipt.counter) = (offer.commands, offer.counter)
        }
        let text =
            #"{"batch_id":"\#(batch.id)","stored":\#(receipt.stored),"duplicates":\#(receipt.duplicates),"#
            + #""expired":\#(receipt.expired)"#
        let orders = commands.members(
            receipt.commands, for: batch.device.installID, counter: receipt.counter, now: now)
        let end = orders.isEmpty ? "}\n" : ",\(orders)}\n"
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text + end)))
    }

    private func upload(_ submission: Submission) -> FenceOrders.Upload {
        FenceOrders.Upload(
            device: submission.device, status: submission.batch.remarks.status, age: submission.age,
            now: submission.wall, latest: submission.latest, counter: submission.counter)
    }

    private func submission(
        of batch: Batch, from device: Int64, _ identity: Identity, now: Timestamp
    ) -> Submission {
        let age = clock.age(now)
        let keptSince = retentionDays.flatMap { days in
            age.map { $0.advanced(bySeconds: -86_400 * Double(days)) }
        }
        var submission = Submission(
            device: device, batch: batch, received: now, keptSince: keptSince,
            newToken: identity.newToken)
        submission.token = identity.token
        submission.nextRevocation = identity.nextRevocation
        submission.wall = clock.wall(now)
        submission.age = age ?? submission.wall
        submission.rememberedSince = age.map { $0.advanced(bySeconds: -86_400 * Double(batchDays)) }
        submission.latest = clock.latest(submission.wall)
        submission.isRemembered = TimeRule.isPlausible(batch.id, now: submission.wall)
        submission.rules = watch.rules
        submission.counter = commands.isSigned ? clock.counter : nil
        return submission
    }

    /// Refuses a batch for its times; for good only where this server's clock cannot be what is wrong.
    private func judge(_ batch: Batch, from device: Int64, now: Timestamp) throws(Problem) {
        let wall = clock.wall(now)
        clock.hear(batch.sentAt, from: device)
        guard let fault = TimeRule.fault(in: batch, now: wall) else { return }
        if TimeRule.isAhead(batch, now: wall), !TimeRule.isPast(batch), clock.mayBeBehind(now) {
            var random = SystemRandomNumberGenerator()
            var problem = Problem.busy(using: &random)
            problem.detail =
                "\(fault.pointer) is more than a day ahead of this server's clock, which may be wrong. Send it again."
            throw problem
        }
        throw Problem(fault)
    }

    /// - Returns: a lease for what the rows hold while they wait, in place of the body's: a thousand bytes of gzip may be
    ///   half a million of extras.
    private func batch(
        of request: Request
    ) async throws -> (batch: Batch, forwarding: Forwarding?, lease: ByteBudget.Lease) {
        let isPacked = try Self.isPacked(request.headers)
        let (bytes, body) = try await bodies.read(request, limit: isPacked ? limits.packed : limits.unpacked)
        let batch = try parse(bytes, isPacked: isPacked)
        let targets = forwarder.names
        let forwarding =
            targets.isEmpty || batch.rowCount == 0
            ? nil : Forwarding(envelope: [UInt8](buffer: bytes), isPacked: isPacked, targets: targets)
        let lease = try bodies.take(batch.footprint + (forwarding?.envelope.count ?? 0))
        withExtendedLifetime(body) {}
        return (batch, forwarding, lease)
    }

    static func isPacked(_ headers: HTTPFields) throws(Problem) -> Bool {
        switch headers[.contentEncoding]?.lowercased() {
        case nil, "identity": return false
        case "gzip", "x-gzip": return true
        case let other?:
            throw Problem(
                .unsupportedMediaType, "Content-Encoding '\(other.prefix(40))' is neither gzip nor identity.")
        }
    }

    private func parse(_ bytes: ByteBuffer, isPacked: Bool) throws(Problem) -> Batch {
        let result = bytes.withUnsafeReadableBytes { bytes in
            Result { () throws(Fault) in
                guard isPacked else { return try BatchReader.read(bytes, limits: limits) }
                let unpacked = try Gunzip.unpack(bytes, limit: limits.unpacked)
                return try BatchReader.read(unpacked, limits: limits)
            }
        }
        do throws(Fault) {
            return try result.get()
        } catch {
            throw Problem(error)
        }
    }
}

extension BatchReader {
    fileprivate static func read(_ bytes: [UInt8], limits: Limits) throws(Fault) -> Batch {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(Fault) in try read(bytes, limits: limits) }
        }.get()
    }
}
