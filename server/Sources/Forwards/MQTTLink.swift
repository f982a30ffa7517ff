internal import CMosquitto
internal import Glibc
internal import ServerStore

/// Publishes by MQTT 5 with QoS 1: what is accepted was acknowledged by the broker. It may come twice; its id goes with it.
struct MQTTLink: SenderThread.Link {
    /// Seconds for the connection, and for all acknowledgements of a turn.
    private static let patience = (connect: Duration.seconds(10), acknowledge: Duration.seconds(15))
    /// Milliseconds between two looks whether it is to end.
    private static let glance: Int32 = 250
    /// Seconds. Nobody answers the broker between two turns, so that a connection which has been idle is not used again.
    private static let keepAlive: Int32 = 60
    private static let idle = Duration.seconds(20)
    /// Reason codes of a PUBACK (MQTT 5, section 2.4) that are about this message alone: topic name invalid, packet too large,
    /// payload format invalid.
    private static let refusals: [Int32] = [0x90, 0x95, 0x99]

    /// What libmosquitto tells, on the thread that calls it.
    private final class Ears {
        /// What CONNACK says; nil: none has come.
        var connected: Int32?
        /// Reasons of PUBACK, by number of the message.
        var acknowledged: [Int32: Int32] = [:]
    }

    private struct Trouble: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        init(_ what: String, code: Int32) {
            let said =
                code == MOSQ_ERR_ERRNO.code
                ? String(cString: strerror(errno)) : MQTTLink.text(mosquitto_strerror(code))
            reason = "\(what): \(said)"
        }
    }

    private let target: ForwardTarget
    private let topic: String
    private let ears = Ears()
    private var handle: OpaquePointer?
    private var used = ContinuousClock.now

    init(_ target: ForwardTarget, topic: String) {
        self.target = target
        self.topic = topic
    }

    mutating func send(_ parcels: [Outbox.Parcel], isEnded: () -> Bool) -> [ForwardOutcome] {
        var outcomes = [ForwardOutcome](repeating: .open, count: parcels.count)
        do throws(Trouble) {
            let handle = try current(isEnded)
            var places: [Int32: Int] = [:]
            for (place, parcel) in parcels.enumerated() {
                switch publish(parcel, by: handle) {
                case (MOSQ_ERR_SUCCESS.code, let number): places[number] = place
                case (MOSQ_ERR_OVERSIZE_PACKET.code, _), (MOSQ_ERR_PAYLOAD_SIZE.code, _):
                    outcomes[place] = .refused("\(parcel.body.count) bytes are more than the broker takes")
                case (let code, _): throw Trouble("cannot publish", code: code)
                }
            }
            try hear(handle, &places, isEnded, &outcomes)
            used = .now
        } catch {
            close()
            if isEnded() { return outcomes }
            for place in outcomes.indices where outcomes[place] == .open {
                outcomes[place] = .failed(error.reason)
            }
        }
        return outcomes
    }

    mutating func close() {
        guard let handle else { return }
        _ = mosquitto_disconnect(handle)
        mosquitto_destroy(handle)
        self.handle = nil
    }

    /// - Returns: a code of libmosquitto, and the number of the message.
    private func publish(_ parcel: Outbox.Parcel, by handle: OpaquePointer) -> (Int32, Int32) {
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        var code = mosquitto_property_add_string(
            &properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), "application/json")
        for (name, value) in [("Idempotency-Key", parcel.id)] + ForwardTarget.headers(parcel)
        where code == MOSQ_ERR_SUCCESS.code {
            code = mosquitto_property_add_string_pair(
                &properties, Int32(MQTT_PROP_USER_PROPERTY.rawValue), name, value)
        }
        guard code == MOSQ_ERR_SUCCESS.code else { return (code, 0) }
        var number: Int32 = 0
        code = parcel.body.withUnsafeBytes { bytes in
            mosquitto_publish_v5(
                handle, &number, ForwardTarget.fill(topic, parcel), Int32(clamping: bytes.count),
                bytes.baseAddress, 1, false, properties)
        }
        return (code, number)
    }

    private func hear(
        _ handle: OpaquePointer, _ places: inout [Int32: Int], _ isEnded: () -> Bool,
        _ outcomes: inout [ForwardOutcome]
    ) throws(Trouble) {
        let due = ContinuousClock.now + Self.patience.acknowledge
        while !places.isEmpty {
            let code = mosquitto_loop(handle, Self.glance, 1)
            for (number, reason) in ears.acknowledged {
                guard let place = places.removeValue(forKey: number) else { continue }
                outcomes[place] = Self.outcome(reason)
            }
            ears.acknowledged = [:]
            guard !places.isEmpty else { return }
            guard code == MOSQ_ERR_SUCCESS.code else {
                throw Trouble("the connection was lost before the acknowledgement", code: code)
            }
            guard .now < due, !isEnded() else {
                throw Trouble("no acknowledgement within \(Self.patience.acknowledge.components.seconds) s")
            }
        }
    }

    private static func outcome(_ reason: Int32) -> ForwardOutcome {
        guard reason >= 0x80 else { return .accepted }
        let text = "the broker refuses: \(text(mosquitto_reason_string(reason)))"
        return refusals.contains(reason) ? .refused(text) : .failed(text)
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String {
        text.map { String(cString: $0) } ?? "unknown"
    }

    // MARK: The connection

    private static let library = mosquitto_lib_init()

    private mutating func current(_ isEnded: () -> Bool) throws(Trouble) -> OpaquePointer {
        if let handle {
            if ContinuousClock.now - used < Self.idle { return handle }
            close()
        }
        guard Self.library == MOSQ_ERR_SUCCESS.code,
            let new = mosquitto_new(nil, true, Unmanaged.passUnretained(ears).toOpaque())
        else { throw Trouble("no memory for libmosquitto") }
        handle = new
        (ears.connected, ears.acknowledged) = (nil, [:])
        try set(new)
        let code = mosquitto_connect(new, target.host, Int32(target.port), Self.keepAlive)
        guard code == MOSQ_ERR_SUCCESS.code else { throw Trouble("cannot connect", code: code) }
        let due = ContinuousClock.now + Self.patience.connect
        while ears.connected == nil {
            let code = mosquitto_loop(new, Self.glance, 1)
            guard code == MOSQ_ERR_SUCCESS.code || ears.connected != nil else {
                throw Trouble("cannot connect", code: code)
            }
            guard .now < due, !isEnded() else { throw Trouble("the broker does not answer") }
        }
        guard let connected = ears.connected, connected == 0 else {
            throw Trouble(
                "the broker refuses the connection: \(Self.text(mosquitto_reason_string(ears.connected ?? 0)))"
            )
        }
        return new
    }

    private func set(_ handle: OpaquePointer) throws(Trouble) {
        _ = mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        mosquitto_connect_v5_callback_set(handle) { _, context, reason, _, _ in
            MQTTLink.ears(context)?.connected = reason
        }
        mosquitto_publish_v5_callback_set(handle) { _, context, number, reason, _ in
            MQTTLink.ears(context)?.acknowledged[number] = reason
        }
        if target.isEncrypted {
            let code = mosquitto_tls_set(
                handle, target.caFile, target.caFile == nil ? "/etc/ssl/certs" : nil, nil, nil, nil)
            guard code == MOSQ_ERR_SUCCESS.code else { throw Trouble("ca_file", code: code) }
        }
        if let user = target.user, let path = target.passwordFile {
            do throws(CredentialFile.Invalid) {
                _ = mosquitto_username_pw_set(handle, user, try CredentialFile.read(path))
            } catch {
                throw Trouble("password_file: \(error.reason)")
            }
        }
    }

    private static func ears(_ context: UnsafeMutableRawPointer?) -> Ears? {
        context.map { Unmanaged<Ears>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension mosq_err_t {
    /// As functions return it.
    fileprivate var code: Int32 { Int32(rawValue) }
}
