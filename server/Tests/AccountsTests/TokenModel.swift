import Base
import ServerStore

@testable import Accounts

/// One vehicle and three servers on one database, over months: requests that are lost, late or doubled, answers that are lost,
/// servers and vehicles that crash. The rules are the real ones; only the network, the clocks and the vehicle are made up.
struct TokenModel {
    /// What the vehicle is not to live through.
    enum Trouble: Equatable {
        /// The refresh token of the vehicle buys nothing.
        case lockedOut(Devices.Exchange)
        /// The servers say that its tokens were copied.
        case accused
        /// Somebody else uses its tokens, and neither it nor an admin is told.
        case unseen
        /// Pairs that have arrived and not ended are one, always.
        case current(Int)
    }

    /// As a server remembers tokens (`Gatekeeper`).
    private struct Server {
        /// Milliseconds by which its clock is ahead.
        var ahead: Int64
        var known: DeviceTokens?
        var asOf = Timestamp(milliseconds: 0)
    }

    /// A request that has been sent, and whose answer nobody will read.
    private struct Stray {
        var at: Timestamp
        var secret: Secret
    }

    private static let lifetime = 7 * 86_400.0
    /// Seconds for which a server takes tokens for what they were.
    private static let freshness = Double(TokenPairs.grace) / 1000
    /// For one that was never shown.
    private static let freshnessOfNew = 5.0

    private let device: Int64
    private var servers: [Server]
    private var random: Lottery
    private var now: Timestamp
    private var strays: [Stray] = []
    /// What the vehicle holds, and what a crash leaves of it.
    private var held: TokenPair
    private var durable: TokenPair
    /// A token of the vehicle has been taken, so that a pair is current, always.
    private var hasArrived = false
    private(set) var uploads = 0
    private(set) var exchanges = 0
    private(set) var crashes = 0

    init(seed: UInt64, in session: any Session) throws(StoreError) {
        random = Lottery(seed: seed)
        now = Timestamp(milliseconds: 1_781_000_000_000)
        servers = [0, -1500, 1500].map { Server(ahead: $0) }
        let (entry, pair) = try Devices.add(
            "van \(seed)", lifetime: Self.lifetime, now: now, in: session)
        (device, held, durable) = (entry.id, pair, pair)
    }

    /// One thing that the vehicle does, with all that comes late until then.
    ///
    /// - Returns: nil when all is well.
    mutating func step(in session: any Session) throws(StoreError) -> Trouble? {
        let pauses: [Double] = [0.5, 5, 30, 3600, 86_400]
        let pause = pauses.randomElement(using: &random) ?? 1
        now = now.advanced(bySeconds: pause * Double.random(in: 0..<1, using: &random))
        if let trouble = try deliver(in: session) { return trouble }
        if random.hits(0.1) { crash() }
        if random.hits(0.02) { restartServer() }
        if random.hits(0.5), try upload(in: session) { return nil }
        return try exchange(in: session)
    }

    // MARK: The network

    private mutating func deliver(in session: any Session) throws(StoreError) -> Trouble? {
        let due = strays.filter { $0.at <= now }.sorted { $0.at < $1.at }
        strays.removeAll { $0.at <= now }
        let present = now
        defer { now = present }
        for stray in due {
            now = stray.at
            if stray.secret.kind == .access {
                _ = try show(stray.secret, in: session)
            } else if try buy(stray.secret, in: session) == .shownAgain {
                return .accused
            }
        }
        return nil
    }

    /// Lets a request come that was stuck in a line, a proxy or a queue, although its sender has given up.
    private mutating func stray(_ secret: Secret) {
        strays.append(
            Stray(at: now.advanced(bySeconds: Double.random(in: 0...30, using: &random)), secret: secret))
    }

    // MARK: The vehicle

    private mutating func crash() {
        held = durable
        crashes += 1
    }

    /// - Returns: whether it has gone well, as far as the vehicle knows.
    private mutating func upload(in session: any Session) throws(StoreError) -> Bool {
        uploads += 1
        if random.hits(0.1) { stray(held.access) }
        if random.hits(0.2) { return false }
        let isTaken = try show(held.access, in: session)
        return isTaken && !random.hits(0.15)
    }

    private mutating func exchange(in session: any Session) throws(StoreError) -> Trouble? {
        exchanges += 1
        let shown = held.refresh
        if random.hits(0.2) {
            stray(shown)
            return nil
        }
        // Lost on its way there.
        if random.hits(0.05) { return nil }
        let result = try buy(shown, in: session)
        if random.hits(0.15) { stray(shown) }
        guard case .sold(let next) = result else { return .lockedOut(result) }
        // Lost on its way back; a server that is killed behind COMMIT is the same.
        if random.hits(0.3) { return nil }
        // Cut off before the new ones are on the disk: they were not used.
        if random.hits(0.1) {
            crash()
            return nil
        }
        (held, durable) = (next, next)
        return nil
    }

    // MARK: The servers

    /// What it remembered has gone.
    private mutating func restartServer() {
        servers[servers.indices.randomElement(using: &random) ?? 0].known = nil
        crashes += 1
    }

    private mutating func buy(_ secret: Secret, in session: any Session) throws(StoreError)
        -> Devices.Exchange
    {
        let server = servers.indices.randomElement(using: &random) ?? 0
        let result = try Devices.exchange(
            secret, lifetime: Self.lifetime, now: time(of: server), in: session)
        // It forgets what it remembered; the others do not know.
        if case .sold = result {
            servers[server].known = nil
            hasArrived = true
        }
        return result
    }

    /// - Returns: whether the access token was good.
    private mutating func show(_ secret: Secret, in session: any Session) throws(StoreError) -> Bool {
        let server = servers.indices.randomElement(using: &random) ?? 0
        let time = time(of: server)
        if let known = servers[server].known, now.seconds(since: servers[server].asOf) < Self.freshness,
            let record = known.valid(secret, now: time),
            record.used != nil || now.seconds(since: servers[server].asOf) < Self.freshnessOfNew
        {
            return try note(record, at: time, in: session)
        }
        let known = try Devices.tokens(of: device, in: session)
        servers[server].known = known
        servers[server].asOf = now
        guard let record = known?.valid(secret, now: time) else { return false }
        return try note(record, at: time, in: session)
    }

    private mutating func note(
        _ record: TokenRecord, at time: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        hasArrived = true
        if record.used == nil { try Devices.noteUse(record.hash, of: device, now: time, in: session) }
        return true
    }

    private func time(of server: Int) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds + servers[server].ahead)
    }

    // MARK: A thief

    /// Somebody has copied what the vehicle holds, and goes on with it, in his own time; then so does the vehicle.
    ///
    /// - Returns: nil when one of the two is told that its token buys nothing, within the days that an access token is good.
    mutating func robbed(in session: any Session) throws(StoreError) -> Trouble? {
        var thief = held
        var isSeen = false
        for _ in 0..<40 where !isSeen {
            now = now.advanced(bySeconds: 86_400 * Double.random(in: 0..<1, using: &random))
            let isThief = random.hits(0.5)
            let pair = isThief ? thief : held
            if random.hits(0.5), try show(pair.access, in: session) { continue }
            switch try buy(pair.refresh, in: session) {
            case .sold(let next):
                if isThief { thief = next } else { (held, durable) = (next, next) }
            case .refused, .overtaken, .shownAgain: isSeen = true
            }
        }
        return isSeen ? nil : .unseen
    }

    // MARK: What holds at all times

    func check(in session: any Session) throws(StoreError) -> Trouble? {
        let records = try Devices.tokens(of: device, in: session)?.records ?? []
        let current = Set(records.filter { $0.used != nil && $0.ended == nil }.map(\.pair)).count
        // Before anything of it has been shown, there is none.
        guard current == (hasArrived ? 1 : 0), records.count <= 4 * DeviceTokens.mostOffered else {
            return .current(current)
        }
        return nil
    }
}

/// Chance that is the same each time (SplitMix64).
struct Lottery: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func hits(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
}
