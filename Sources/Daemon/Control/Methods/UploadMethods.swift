internal import Base
internal import ControlProtocol
internal import Storage

/// Uploads: what is pending, what was refused, and the tokens.
enum UploadMethods: MethodGroup {
    static var methods: [Method] {
        Method(Wire.Sync.self, for: .members) { handlers, request, parameters in
            let name = try parameters.destination.map(DestinationName.init(checking:))
            let isAwaited = parameters.wait ?? true && !request.call.oneway
            let asksEach = parameters.all ?? false
            if asksEach, name != nil { throw CommandFailure(kind: .parameter("all")) }
            let command: Command =
                asksEach ? .syncEach(isAwaited: isAwaited) : .sync(name, isAwaited: isAwaited)
            return try handlers.give(command, request, as: Wire.Sync.self) { completion in
                guard case .synced(let result) = completion else { return nil }
                let trouble = result.trouble
                return .init(
                    outcome: result.outcome.rawValue, uploaded: result.uploaded, pending: result.pending,
                    rejected: result.rejected > 0 ? result.rejected : nil, httpStatus: trouble?.httpStatus,
                    mqttCode: trouble?.mqttCode, error: trouble?.error, reason: trouble?.reason,
                    destination: result.destination?.text)
            }
        }
        Method.command(Wire.Rebatch.self, for: .admins) { parameters in
            .rebatch(of: try DestinationName(checking: parameters.destination))
        } result: { completion in
            guard case .rebatched(let result) = completion else { return nil }
            return .init(batchId: result.batch.description, rows: result.rows)
        }
        Method.command(Wire.Resend.self, for: .admins) { parameters in
            .resend(
                Resend(
                    for: try DestinationName(checking: parameters.destination),
                    from: try Timestamp(checking: parameters.from),
                    to: try parameters.to.map(Timestamp.init(checking:))))
        } result: { completion in
            completion.count.map { .init(requeued: $0) }
        }
        Method.command(Wire.BackfillDestination.self, for: .admins) { parameters in
            .backfill(
                Backfill(
                    of: try DestinationName(checking: parameters.destination),
                    from: try parameters.from.map(Timestamp.init(checking:))))
        } result: { completion in
            completion.count.map { .init(added: $0) }
        }
        Method.command(Wire.ForgetDestination.self, for: .admins) { parameters in
            .forgetDestination(try DestinationName(checking: parameters.destination))
        } result: { completion in
            completion.count.map { .init(removed: $0) }
        }
        Method.question(Wire.GetPendingUploadCount.self, for: .members) { handlers, _, _ in
            .init(count: handlers.hub.store.counts().pending)
        }
        Method.list(Wire.GetRejected.self, for: .members) { handlers, parameters in
            let name = try DestinationName(checking: parameters.destination)
            return RejectedCursor(of: try handlers.dispatcher.known(name))
        } result: { rows in
            .init(rejected: rows.map { Wire.Rejected($0) })
        }
        Method.command(Wire.RetryRejected.self, for: .members) { parameters in
            .requeueRejected(of: try DestinationName(checking: parameters.destination))
        } result: { completion in
            completion.count.map { .init(requeued: $0) }
        }
        Method.command(Wire.PurgeRejected.self, for: .admins) { parameters in
            .purgeRejected(of: try DestinationName(checking: parameters.destination))
        } result: { completion in
            completion.count.map { .init(removed: $0) }
        }
        Method.command(Wire.SeedAuth.self, for: .admins) { parameters in
            let seed = try Command.Seed(
                access: parameters.accessToken, refresh: parameters.refreshToken,
                expiresAt: parameters.expiresAt)
            return .seedAuth(seed, of: try DestinationName(checking: parameters.destination))
        }
    }
}
