package import Base
package import DaemonConfiguration
internal import Envelope

/// Finds a server's commands in the body of an answer. Pure, and bounded in every respect: what it makes of a body is at
/// most ``Settings/Commands/max`` commands.
package struct CommandReader {
    private let rules: Settings.Commands
    private let destination: DestinationName
    private let installID: String
    private let batch: UUIDv7
    private var warrant: ServerCommand.Warrant?

    private typealias Members = [String: JSON]

    private static let plain = "commands"
    private static let guides = "background_geolocation"
    private static let signed = "signed"

    /// Objects and lists within each other, the whole body included.
    package static let depthLimit = 16

    private static let limits: JSONReader.Limits = {
        var limits = JSONReader.Limits()
        limits.depth = depthLimit
        limits.allowsDuplicates = false
        return limits
    }()

    /// - Parameters:
    ///   - answer: a complete and believed 2xx to a request of this destination, over HTTPS or this host.
    ///   - batch: what was sent; the guide's commands are named after it.
    ///   - rules: of this destination.
    package static func read(
        _ answer: Answer, to batch: UUIDv7, from destination: DestinationName, _ rules: Settings.Commands,
        installID: String
    ) -> Hearing {
        guard (200...299).contains(answer.status), !answer.isPage else { return .nothing }
        if answer.isCut {
            return .refused(.init(.tooLarge, "the answer has more than 64 KiB"))
        }
        guard answer.isReadable else {
            return .refused(
                .init(.compressed, "the answer is compressed, which was not asked for; have it sent as it is")
            )
        }
        var reader = CommandReader(
            rules: rules, destination: destination, installID: installID, batch: batch)
        do throws(CommandListRefusal) {
            return try reader.read(answer.body)
        } catch {
            return .refused(error)
        }
    }

    private init(
        rules: Settings.Commands, destination: DestinationName, installID: String, batch: UUIDv7
    ) {
        self.rules = rules
        self.destination = destination
        self.installID = installID
        self.batch = batch
    }

    private mutating func read(_ body: [UInt8]) throws(CommandListRefusal) -> Hearing {
        guard let root = JSONReader.read(body, limits: Self.limits) else {
            // Most servers answer something else, or nothing, and mean nothing by it.
            guard Self.mentionsCommands(body) else { return .nothing }
            throw malformed(
                "it is not JSON of at most \(Self.depthLimit) levels in which no name occurs twice")
        }
        guard case .object(let members) = root else { return .nothing }
        let commands = try commands(members)
        return commands.isEmpty ? .nothing : .commands(HeardCommands(commands: commands, warrant: warrant))
    }

    /// Whether a body that cannot be read would have had commands.
    private static func mentionsCommands(_ body: [UInt8]) -> Bool {
        [plain, guides, signed].contains { body.firstRange(of: Array("\"\($0)\"".utf8)) != nil }
    }

    private func malformed(_ detail: String) -> CommandListRefusal {
        CommandListRefusal(.malformed, detail)
    }

    private func isThere(_ name: String, in members: Members) -> Bool {
        members[name].map { $0 != .null } ?? false
    }

    private mutating func commands(_ members: Members) throws(CommandListRefusal) -> [ServerCommand] {
        let isSigned = isThere(Self.signed, in: members)
        let isPlain = isThere(Self.plain, in: members) || isThere(Self.guides, in: members)
        if rules.verifyKeys.isEmpty {
            // A server may send both forms, for vehicles with keys and without.
            if isPlain { return try list(members) }
            guard isSigned else { return [] }
            throw CommandListRefusal(
                .noKeys, "they are signed, and verify_keys names no key to tell by whom")
        }
        if isSigned {
            let inner = try open(members)
            return try list(inner)
        }
        // A list without commands asks for nothing that would have to be signed.
        guard isPlain, try !list(members).isEmpty else { return [] }
        throw CommandListRefusal(.unsigned, "nobody has signed them, and verify_keys demands it")
    }

    // MARK: Signatures

    /// What has been signed, for this vehicle.
    private mutating func open(_ members: Members) throws(CommandListRefusal) -> Members {
        guard case .string(let text)? = members[Self.signed], let message = Base64.decode(text.utf8),
            case .string(let mark)? = members["signature"], let signature = Base64.decode(mark.utf8)
        else { throw malformed("signed and signature must be texts in Base64") }
        guard Ed25519.verify(signature, of: message, by: rules.verifyKeys) else {
            throw CommandListRefusal(.badSignature, "none of verify_keys has signed them")
        }
        return try read(signed: message)
    }

    private mutating func read(signed message: [UInt8]) throws(CommandListRefusal) -> Members {
        guard case .object(let inner)? = JSONReader.read(message, limits: Self.limits) else {
            throw malformed("what was signed is not a JSON object of at most \(Self.depthLimit) levels")
        }
        guard case .string(let vehicle)? = inner["install_id"] else {
            throw malformed("install_id must be a text")
        }
        guard vehicle.lowercased() == installID.lowercased() else {
            throw CommandListRefusal(.otherVehicle, "they were signed for another vehicle")
        }
        guard let counter = inner["counter"]?.integer, (1...Self.highestCounter).contains(counter) else {
            throw malformed("counter must be a whole number, the Unix milliseconds of its issue")
        }
        guard let expiry = inner["expires_at"].flatMap(Self.moment) else {
            throw malformed("expires_at must be Unix seconds, or a text such as 2026-06-15T12:34:56Z")
        }
        warrant = ServerCommand.Warrant(counter: counter, expiresAt: expiry)
        return inner
    }

    /// 2⁵³: beyond it, servers whose numbers are all floating-point would not count on.
    private static let highestCounter: Int64 = 9_007_199_254_740_992
    /// The last second of the year 9999. Milliseconds, taken for seconds, are always more.
    private static let lastSecond = 253_402_300_799.0

    private static func moment(_ value: JSON) -> Timestamp? {
        if case .string(let text) = value { return Timestamp(iso8601: text) }
        guard let seconds = value.double, (0...lastSecond).contains(seconds) else { return nil }
        return Timestamp(milliseconds: 0).advanced(bySeconds: seconds)
    }

    /// What a message would be heard as, had one of the keys signed it. For fuzzing, which cannot sign.
    static func read(
        signed message: [UInt8], to batch: UUIDv7, _ rules: Settings.Commands, installID: String
    ) -> Hearing {
        var reader = CommandReader(rules: rules, destination: .main, installID: installID, batch: batch)
        do throws(CommandListRefusal) {
            let members = try reader.read(signed: message)
            let commands = try reader.list(members)
            return commands.isEmpty
                ? .nothing : .commands(HeardCommands(commands: commands, warrant: reader.warrant))
        } catch {
            return .refused(error)
        }
    }

    // MARK: Lists

    private func list(_ members: Members) throws(CommandListRefusal) -> [ServerCommand] {
        let hasBoth = isThere(Self.plain, in: members) && isThere(Self.guides, in: members)
        guard !hasBoth else {
            throw malformed("there are \(Self.plain) and \(Self.guides); their order cannot be told")
        }
        if isThere(Self.guides, in: members) { return try guides(members[Self.guides]) }
        guard isThere(Self.plain, in: members) else { return [] }
        guard case .array(let elements)? = members[Self.plain] else {
            throw malformed("\(Self.plain) must be a list")
        }
        try checkCount(elements)
        var commands: [ServerCommand] = []
        for (index, element) in elements.enumerated() { commands.append(try plain(element, index)) }
        return commands
    }

    private func checkCount(_ elements: [JSON]) throws(CommandListRefusal) {
        guard elements.count > rules.max else { return }
        throw CommandListRefusal(
            .tooMany, "they are \(elements.count) in one answer, and max is \(rules.max)")
    }

    private func plain(_ element: JSON, _ index: Int) throws(CommandListRefusal) -> ServerCommand {
        guard case .object(var members) = element, case .string(let id)? = members["id"],
            ServerCommand.isID(id), case .string(let name)? = members["command"]
        else {
            throw malformed(
                "command \(index + 1) must be an object with an id of 1 to 128 printable ASCII characters and a command, both "
                    + "texts")
        }
        members["id"] = nil
        // To leave the arguments out is the same as to send none.
        if members["arguments"] == .null || members["arguments"] == .object([:]) {
            members["arguments"] = nil
        }
        let written = JSON.object(members)
        return ServerCommand(id: id, name: name, content(name, members), written: written, warrant: warrant)
    }

    private func content(_ name: String, _ members: Members) -> ServerCommand.Content {
        guard let known = Settings.Commands.Name(rawValue: name) else {
            return .refused(CommandError(.unknownCommand))
        }
        do throws(CommandError) {
            let other = members.keys.filter { $0 != "command" && $0 != "arguments" }
            if let first = other.min() {
                throw CommandError(.invalidArguments, "member \(first) is not known; write arguments")
            }
            return .request(try ServerCommand.Request(known, members["arguments"]))
        } catch {
            return .refused(error)
        }
    }

    // MARK: The guide's form

    private func guides(_ value: JSON?) throws(CommandListRefusal) -> [ServerCommand] {
        guard case .array(var elements)? = value else { throw malformed("\(Self.guides) must be a list") }
        // A single command may stand there without a list around it.
        if case .string? = elements.first { elements = [.array(elements)] }
        try checkCount(elements)
        var commands: [ServerCommand] = []
        for (index, element) in elements.enumerated() {
            guard case .array(let parts) = element, case .string(let name)? = parts.first else {
                throw malformed(
                    "element \(index + 1) of \(Self.guides) must be a list that begins with a name")
            }
            let (known, content) = GuideCommand.translated(
                name, Array(parts.dropFirst()), for: destination)
            commands.append(
                ServerCommand(
                    id: "\(batch)/\(index)", name: known ?? name, content, written: element,
                    warrant: warrant))
        }
        return commands
    }
}
