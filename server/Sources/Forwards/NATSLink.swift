internal import CNATS
internal import FoundationEssentials
internal import Glibc
internal import ServerStore

/// Publishes to a stream of JetStream: what is accepted was acknowledged by the stream, and what comes again within its window is known
/// there by its id.
struct NATSLink: SenderThread.Link {
    /// Milliseconds for the connection, and for all acknowledgements of a turn.
    private static let patience: (connect: Int64, acknowledge: Int64) = (5000, 10_000)
    /// Milliseconds between two looks whether it is to end.
    private static let glance: Int64 = 250
    /// JSStreamMessageExceedsMaximumErr: it is this message that is too long.
    private static let tooLong = 10_054

    /// A connection, with a subscription to the acknowledgements.
    private struct Connection {
        let handle: OpaquePointer
        let acknowledgements: OpaquePointer
        /// Each message has a subject of its own below.
        let inbox: String
    }

    private struct Trouble: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        init(_ what: String, _ status: natsStatus) {
            reason = "\(what): \(natsStatus_GetText(status).map { String(cString: $0) } ?? "unknown error")"
        }
    }

    /// What the stream says.
    private struct Answer: Decodable {
        struct Refusal: Decodable {
            let number: Int?
            let description: String?

            private enum CodingKeys: String, CodingKey {
                case number = "err_code"
                case description
            }
        }

        let stream: String?
        let seq: UInt64?
        let error: Refusal?
    }

    private let target: ForwardTarget
    private let subject: String
    private let name: String
    private var connection: Connection?
    private var count: UInt64 = 0

    init(_ target: ForwardTarget, subject: String, name: String) {
        self.target = target
        self.subject = subject
        self.name = name
    }

    mutating func send(_ parcels: [Outbox.Parcel], isEnded: () -> Bool) -> [ForwardOutcome] {
        var outcomes = [ForwardOutcome](repeating: .open, count: parcels.count)
        do throws(Trouble) {
            let connection = try current()
            let first = count
            var waiting = 0
            for (place, parcel) in parcels.enumerated() {
                count += 1
                if let refusal = try publish(
                    parcel, reply: "\(connection.inbox).\(first + UInt64(place))", connection)
                {
                    outcomes[place] = refusal
                } else {
                    waiting += 1
                }
            }
            hear(connection, from: first, waiting, isEnded, &outcomes)
            if natsConnection_Status(connection.handle) != NATS_CONN_STATUS_CONNECTED { close() }
        } catch {
            close()
            for place in outcomes.indices where outcomes[place] == .open {
                outcomes[place] = .failed(error.reason)
            }
        }
        return outcomes
    }

    mutating func close() {
        guard let connection else { return }
        natsSubscription_Destroy(connection.acknowledgements)
        natsConnection_Destroy(connection.handle)
        self.connection = nil
    }

    // MARK: Messages

    /// - Returns: nil when it is on its way.
    private func publish(
        _ parcel: Outbox.Parcel, reply: String, _ connection: Connection
    ) throws(Trouble) -> ForwardOutcome? {
        var message: OpaquePointer?
        var status = parcel.body.withUnsafeBytes { bytes in
            natsMsg_Create(
                &message, ForwardTarget.fill(subject, parcel), reply,
                bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count))
        }
        guard status == NATS_OK else { throw Trouble("cannot make a message", status) }
        defer { natsMsg_Destroy(message) }
        for (name, value) in [("Nats-Msg-Id", parcel.id)] + ForwardTarget.headers(parcel) {
            status = natsMsgHeader_Set(message, name, value)
            guard status == NATS_OK else { throw Trouble("cannot make a message", status) }
        }
        status = natsConnection_PublishMsg(connection.handle, message)
        switch status {
        case NATS_OK: return nil
        case NATS_MAX_PAYLOAD:
            return .refused("\(parcel.body.count) bytes are more than the server's max_payload")
        default: throw Trouble("cannot publish", status)
        }
    }

    /// Hears what the stream says to each message, until all have an answer or it has taken too long.
    private func hear(
        _ connection: Connection, from first: UInt64, _ waiting: Int, _ isEnded: () -> Bool,
        _ outcomes: inout [ForwardOutcome]
    ) {
        var waiting = waiting
        let due = nats_Now() + Self.patience.acknowledge
        var reason = "no acknowledgement within \(Self.patience.acknowledge / 1000) s"
        hearing: while waiting > 0, !isEnded() {
            let left = due - nats_Now()
            guard left > 0 else { break }
            var answer: OpaquePointer?
            let status = natsSubscription_NextMsg(
                &answer, connection.acknowledgements, min(left, Self.glance))
            switch status {
            case NATS_OK: break
            case NATS_TIMEOUT: continue hearing
            case NATS_NO_RESPONDERS:
                // libnats keeps the message to itself, and with it for which one this is.
                reason = "no stream takes the subject \(subject)"
                waiting -= 1
                continue hearing
            default:
                reason = Trouble("the connection was lost before the acknowledgement", status).reason
                break hearing
            }
            defer { natsMsg_Destroy(answer) }
            // Those of earlier turns come too late.
            guard let name = natsMsg_GetSubject(answer).map({ String(cString: $0) }),
                let number = name.split(separator: ".").last.flatMap({ UInt64($0) }), number >= first,
                number - first < UInt64(outcomes.count)
            else { continue }
            let place = Int(number - first)
            guard outcomes[place] == .open else { continue }
            outcomes[place] = outcome(answer)
            waiting -= 1
        }
        guard !isEnded() else { return }
        for place in outcomes.indices where outcomes[place] == .open { outcomes[place] = .failed(reason) }
    }

    private func outcome(_ message: OpaquePointer?) -> ForwardOutcome {
        let bytes = UnsafeRawBufferPointer(
            start: natsMsg_GetData(message), count: Int(max(0, natsMsg_GetDataLength(message))))
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)) else {
            return .failed("what answers is no stream of JetStream")
        }
        if let error = answer.error {
            let reason = "the stream refuses: \(error.description ?? "error \(error.number ?? 0)")"
            return error.number == Self.tooLong ? .refused(reason) : .failed(reason)
        }
        return answer.stream != nil && answer.seq != nil
            ? .accepted : .failed("what answers is no stream of JetStream")
    }

    // MARK: The connection

    private mutating func current() throws(Trouble) -> Connection {
        if let connection {
            if natsConnection_Status(connection.handle) == NATS_CONN_STATUS_CONNECTED { return connection }
            close()
        }
        var options: OpaquePointer?
        try check(natsOptions_Create(&options), "options")
        defer { natsOptions_Destroy(options) }
        try set(options)
        var handle: OpaquePointer?
        let status = natsConnection_Connect(&handle, options)
        guard status == NATS_OK, let handle else {
            throw Trouble("cannot connect", status)
        }
        var subscription: OpaquePointer?
        var text: UnsafeMutablePointer<CChar>?
        guard natsInbox_Create(&text) == NATS_OK, let text else {
            natsConnection_Destroy(handle)
            throw Trouble("no memory for an inbox")
        }
        let name = String(cString: text)
        natsInbox_Destroy(text)
        let subscribed = natsConnection_SubscribeSync(&subscription, handle, name + ".*")
        guard subscribed == NATS_OK, let subscription else {
            natsConnection_Destroy(handle)
            throw Trouble("cannot subscribe to acknowledgements", subscribed)
        }
        let new = Connection(handle: handle, acknowledgements: subscription, inbox: name)
        connection = new
        return new
    }

    private func set(_ options: OpaquePointer?) throws(Trouble) {
        try setServers(options)
        try check(natsOptions_SetName(options, name), "name")
        try check(natsOptions_SetTimeout(options, Self.patience.connect), "timeout")
        // What comes next is tried on a new one, after a pause.
        try check(natsOptions_SetAllowReconnect(options, false), "reconnect")
        try check(natsOptions_SetPingInterval(options, 20_000), "ping")
        if target.isEncrypted { try check(natsOptions_SetSecure(options, true), "TLS") }
        if let path = target.caFile {
            try check(natsOptions_LoadCATrustedCertificates(options, path), "ca_file \(path)")
        }
        if let path = target.credentialsFile {
            try check(natsOptions_SetUserCredentialsFromFiles(options, path, nil), "credentials_file \(path)")
        }
        do throws(CredentialFile.Invalid) {
            if let path = target.tokenFile {
                _ = natsOptions_SetToken(options, try CredentialFile.read(path))
            }
            if let user = target.user, let path = target.passwordFile {
                _ = natsOptions_SetUserInfo(options, user, try CredentialFile.read(path))
            }
        } catch {
            throw Trouble(error.reason)
        }
    }

    private func setServers(_ options: OpaquePointer?) throws(Trouble) {
        let copies = target.servers.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var servers = copies.map { UnsafePointer<CChar>($0) }
        let status = servers.withUnsafeMutableBufferPointer { servers in
            natsOptions_SetServers(options, servers.baseAddress, Int32(clamping: servers.count))
        }
        try check(status, "url")
    }

    private func check(_ status: natsStatus, _ what: String) throws(Trouble) {
        guard status == NATS_OK else { throw Trouble(what, status) }
    }
}
