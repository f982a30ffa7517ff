internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// Tells Home Assistant of the vehicle, over the connection of its destination, and makes it forget it again. Nothing of it is
/// a request: no row waits for its success, and its failure shows in the status alone.
///
/// Confined to the uploader's thread.
final class HomeAssistantKeeper {
    /// What is under way.
    private enum Work {
        /// These are to be retained, over the connection of the destination.
        case telling([MQTTMessage], current: MQTTMessage, left: Int)
        /// Nothing is to be retained of these topics any more.
        case removing(Announcement, topics: ArraySlice<String>)
    }

    private let port: UploaderPort
    private let hub: Hub
    private let installID: String
    private var random: RandomSource
    private var work: Work?

    /// nil: it is not to be told of the vehicle.
    private var device: HomeAssistant?
    private var retained = RetainedMessages()
    /// When there may be something to tell; nil: not before something happens.
    private var tellDue: BootInstant?
    /// Not before this moment, after a failure.
    private var pauseEnd: BootInstant?
    private var pause = BackOff(first: 10, ceiling: 3600)

    /// The settings by which the removal under way was begun.
    private var settings: Settings?
    /// The connection of a removal, which has a broker and a login of its own.
    private var client: MQTTClient?
    /// When the next attempt at a removal may begin.
    private var removalDue = BootInstant(nanoseconds: 0)
    private var removalPause = BackOff(first: 60, ceiling: 3600)
    /// What could not be removed since all were tried last, by url: the next is tried before these.
    private var unremoved: Set<String> = []

    /// Why the broker has not been told, or has not removed what it retains; nil: all is well.
    private var trouble: (telling: String?, removal: String?)

    /// Seconds for which an answer of the battery will do, and for which a new one is waited for.
    private static let battery = (age: 60.0, patience: 1.0)
    /// How many times as many messages are sent as there are: a broker that ends each connection ends this, too.
    private static let repeats = 3

    init(port: UploaderPort, hub: Hub, installID: String, random: RandomSource) {
        self.port = port
        self.hub = hub
        self.installID = installID
        self.random = random
    }

    // MARK: What happens

    /// Other settings. Nothing must be under way.
    func configure(_ sync: Settings.Sync?, now: BootInstant) {
        // What was not to be retained any more may be due now, and what failed may go another way.
        (removalDue, pauseEnd) = (now, nil)
        removalPause.reset()
        pause.reset()
        guard let sync, sync.announces, let name = sync.format.deviceID else {
            (device, tellDue, trouble.telling) = (nil, nil, nil)
            return
        }
        device = HomeAssistant(
            installID: installID, name: name, model: Machine.model(), version: Release.version)
        tellDue = sync.triggers.mode == .manual ? nil : now
    }

    /// What has been told may have been removed.
    func tellAgain(now: BootInstant) {
        retained.forget()
        // Where nothing goes out by itself it is with the next drain.
        if tellDue != nil { tellDue = now }
    }

    /// A drain has ended: the vehicle may be elsewhere.
    func drainEnded(now: BootInstant) {
        if device != nil { tellDue = now }
    }

    /// The network is there again.
    func networkReturned(now: BootInstant) {
        pauseEnd = nil
        removalDue = now
    }

    /// What the connection has come to while nothing was under way.
    ///
    /// - Parameter isLost: the connection has ended.
    func observe(_ carrier: inout Carrier, isLost: Bool, _ sync: Settings.Sync?, now: BootInstant) {
        guard device != nil else { return }
        let isBorn = carrier.takeHeard() == HomeAssistant.birth
        if isBorn { retained.forget() }
        let number = carrier.connectionNumber
        guard retained.use(connection: number) || isBorn else { return }
        // A connection of its own is nothing that anybody has asked for.
        if number == nil, sync?.triggers.mode == .manual { return }
        tellDue = now
        // Not with all others that were connected to that broker.
        if isLost { pauseEnd = now.advanced(bySeconds: pause.next(using: &random)) }
    }

    // MARK: What is due

    /// When there is something to tell; nil: not before something happens.
    var due: BootInstant? { tellDue.map { max($0, pauseEnd ?? $0) } }

    func isDue(now: BootInstant) -> Bool { due.map { $0 <= now } ?? false }

    /// When there is something to remove; nil: there is nothing.
    func removalDue(_ settings: Settings) -> BootInstant? {
        removal(settings) == nil ? nil : removalDue
    }

    private func removal(_ settings: Settings) -> Announcement? {
        let all = removals(settings)
        return all.first { !unremoved.contains($0.url) } ?? all.first
    }

    private func removals(_ settings: Settings) -> [Announcement] {
        hub.announcements.removals(by: port.name, settings, installID: installID) {
            hub.uploaders[$0] != nil
        }
    }

    var isUnderway: Bool { work != nil }

    // MARK: Telling

    /// Begins to tell what has changed, if anything has.
    func beginTelling(_ carrier: inout Carrier, _ sync: Settings.Sync, now: BootInstant) {
        guard let device else { return }
        _ = retained.use(connection: carrier.connectionNumber)
        let messages = messages(of: device, sync, now: now)
        guard let first = retained.next(of: messages) else { return told(sync, now: now) }
        do {
            if let surplus = try hub.announcements.note(announcement(sync)) {
                Log.warning(
                    .homeAssistant,
                    "nobody removes any more what Home Assistant was told of this vehicle at \(surplus.url)")
            }
        } catch {
            return failed("what is to be removed some day cannot be noted: \(error)", sync, now: now)
        }
        tell(first, of: messages, left: messages.count * Self.repeats, &carrier, sync, now: now)
    }

    private func tell(
        _ message: MQTTMessage, of messages: [MQTTMessage], left: Int, _ carrier: inout Carrier,
        _ sync: Settings.Sync, now: BootInstant
    ) {
        work = .telling(messages, current: message, left: left - 1)
        _ = carrier.publish(message, to: sync, at: hub.clock.time(now: now), now: now)
    }

    private func messages(of device: HomeAssistant, _ sync: Settings.Sync, now: BootInstant) -> [MQTTMessage]
    {
        let reader = hub.board.readerSnapshot
        let battery = hub.battery.battery(
            notOlderThan: Self.battery.age, patience: Self.battery.patience, now: now)
        let position = reader.lastLocation.map { device.position($0) }
        let state = device.state(
            odometer: reader.odometer, ignition: reader.vehicle?.isOn, battery: battery,
            pending: sync.isLatestOnly ? 0 : hub.store.counts()[port.name]?.pending ?? 0)
        return device.documents(hasBattery: battery != nil) + [position, state].compactMap(\.self)
            + [HomeAssistant.availability(of: installID, isOnline: true)]
    }

    private func announcement(_ sync: Settings.Sync) -> Announcement {
        var announcement = Announcement(
            destination: port.name.text, url: sync.url, installID: installID,
            clientID: OwnTracksMQTT.clientID(installID: installID, destination: port.name.text),
            topics: HomeAssistant.topics(of: installID),
            version: (sync.mqtt?.version ?? .auto).rawValue)
        if case .owntracks(let own) = sync.format, let password = own.password {
            (announcement.username, announcement.password) = (own.username?.text, password.text)
        }
        announcement.caFile = sync.caFile
        announcement.clientCertificate = sync.clientCertificate
        announcement.clientKey = sync.clientKey
        announcement.proxy = sync.proxy
        return announcement
    }

    private func told(_ sync: Settings.Sync, now: BootInstant) {
        work = nil
        pause.reset()
        (pauseEnd, trouble.telling) = (nil, nil)
        tellDue =
            sync.triggers.mode == .manual ? nil : now.advanced(bySeconds: sync.intervalSeconds)
    }

    private func failed(_ words: String, _ sync: Settings.Sync, now: BootInstant) {
        work = nil
        if trouble.telling == nil {
            Log.warning(
                .homeAssistant, "Home Assistant could not be told of the vehicle by \(port.name): \(words)",
                [(.destination, port.name.text)])
        }
        trouble.telling = words
        pauseEnd = now.advanced(bySeconds: pause.next(using: &random))
        if sync.triggers.mode == .manual { tellDue = nil }
    }

    // MARK: Removing

    /// Begins to remove the oldest of what is retained and not configured any more.
    func beginRemoval(_ carrier: inout Carrier, _ settings: Settings, now: BootInstant) {
        guard let announcement = removal(settings) else { return }
        self.settings = settings
        // Under its name another one is about to connect, and its will is to be published before what removes that.
        if announcement.destination == port.name.text { carrier.disconnect() }
        if client == nil { client = MQTTClient(random: random) }
        work = .removing(announcement, topics: announcement.topics[...])
        removeNext(announcement, announcement.topics[...], now: now)
    }

    private func removeNext(
        _ announcement: Announcement, _ topics: ArraySlice<String>, now: BootInstant
    ) {
        guard let topic = topics.first else { return removed(announcement, now: now) }
        work = .removing(announcement, topics: topics)
        client?.begin(
            MQTTPublication(MQTTMessage(topic: topic, payload: [], isRetained: true)),
            MQTTOptions(announcement))
    }

    private func removed(_ announcement: Announcement, now: BootInstant) {
        do {
            try hub.announcements.strike(announcement)
        } catch {
            return removalFailed("its end cannot be noted: \(error)", announcement, now: now)
        }
        Log.notice(
            .homeAssistant, "the broker \(announcement.url) has removed the vehicle from Home Assistant",
            [(.destination, announcement.destination)])
        endRemoval()
        removalPause.reset()
        removalDue = now
        trouble.removal = nil
        unremoved.remove(announcement.url)
        // Two urls may lead to one broker.
        hub.post(toUploaders: .announcementRemoved)
    }

    private func removalFailed(
        _ words: String, _ announcement: Announcement, now: BootInstant
    ) {
        if trouble.removal == nil {
            Log.warning(
                .homeAssistant,
                "the vehicle could not be removed from Home Assistant at \(announcement.url): \(words); it is tried again",
                [(.destination, announcement.destination)])
        }
        trouble.removal = "\(announcement.url): \(words)"
        endRemoval()
        unremoved.insert(announcement.url)
        // One that cannot be reached keeps none of the others waiting.
        if let settings, removals(settings).contains(where: { !unremoved.contains($0.url) }) {
            removalDue = now
        } else {
            unremoved = []
            removalDue = now.advanced(bySeconds: removalPause.next(using: &random))
        }
    }

    private func endRemoval() {
        work = nil
        client?.disconnect()
        client = nil
    }

    // MARK: While something is under way

    /// Goes on with what is under way.
    ///
    /// - Returns: until there is more to do; nil: it has ended.
    func proceed(_ carrier: inout Carrier, _ sync: Settings.Sync?, now: BootInstant) -> Rest? {
        while let current = work {
            let outcome =
                switch current {
                case .telling: carrier.advanceMessage(now: now)
                case .removing: advanceRemoval(now: now)
                }
            guard let outcome else {
                if case .telling = current { return carrier.rest(now: now) }
                return client?.rest(now: now)
            }
            switch current {
            case .telling(let messages, let message, let left):
                guard let sync else {
                    work = nil
                    return nil
                }
                answered(outcome, message, of: messages, left: left, &carrier, sync, now: now)
            case .removing(let announcement, let topics):
                if let words = outcome.refusal {
                    removalFailed(words, announcement, now: now)
                } else {
                    removeNext(announcement, topics.dropFirst(), now: now)
                }
            }
        }
        return nil
    }

    private func advanceRemoval(now: BootInstant) -> MQTTOutcome? {
        switch client?.advance(now: now) {
        case .underway: nil
        case .ended(let outcome): outcome
        case nil: .failure(TransportFailure(kind: .network, message: "no memory for libcurl"))
        }
    }

    private func answered(
        _ outcome: MQTTOutcome, _ message: MQTTMessage, of messages: [MQTTMessage], left: Int,
        _ carrier: inout Carrier, _ sync: Settings.Sync, now: BootInstant
    ) {
        if let words = outcome.refusal { return failed("\(message.topic): \(words)", sync, now: now) }
        _ = retained.use(connection: carrier.connectionNumber)
        retained.note(message)
        do { try hub.announcements.accept(announcement(sync)) } catch {
            return failed("what is to be removed some day cannot be noted: \(error)", sync, now: now)
        }
        guard let next = retained.next(of: messages) else { return told(sync, now: now) }
        guard left > 0 else {
            return failed("the broker ends the connection time and again", sync, now: now)
        }
        tell(next, of: messages, left: left, &carrier, sync, now: now)
    }

    /// Breaks off what is under way.
    func cancel(_ carrier: inout Carrier) {
        switch work {
        case .telling:
            carrier.cancel()
            work = nil
        case .removing: endRemoval()
        case nil: break
        }
    }

    /// For the status; nil: all is well.
    func words(_ settings: Settings) -> String? {
        // It may be configured again by now.
        if trouble.removal != nil, removal(settings) == nil { trouble.removal = nil }
        let found = [
            trouble.telling.map { "Home Assistant could not be told: " + $0 },
            trouble.removal.map { "what it was told could not be removed: " + $0 },
        ].compactMap(\.self)
        return found.isEmpty ? nil : found.joined(separator: "; ")
    }
}

extension MQTTOutcome {
    /// Why the broker does not have the message; nil: it has. One that nobody subscribes to is retained all the same.
    fileprivate var refusal: String? {
        switch self {
        case .answer(let answer):
            OwnTracksMQTT.judge(answer, acceptsUnsubscribed: true).verdict == .accepted
                ? nil
                : OwnTracksMQTT.words(answer)
                    + (OwnTracksMQTT.advice(answer).map { "; " + $0 } ?? "")
        case .failure(let failure): failure.message
        case .unmatched(let words): words
        case .cancelled: "it was broken off"
        }
    }
}

extension MQTTOptions {
    /// Seconds for one message of a removal, the connection included.
    private static let removalTimeout = 30.0

    /// The broker of an announcement, for its removal.
    fileprivate init(_ announcement: Announcement) {
        self.init(
            url: announcement.url, clientID: announcement.clientID, username: announcement.username,
            password: announcement.password, timeout: Self.removalTimeout, caFile: announcement.caFile,
            clientCertificate: announcement.clientCertificate, clientKey: announcement.clientKey,
            proxy: announcement.proxy)
        version = Settings.MQTTVersion(rawValue: announcement.version) ?? .auto
    }
}
