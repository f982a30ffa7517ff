internal import FoundationEssentials
internal import Glibc
package import Linux

/// What one of the small files holds.
package protocol SmallFileContent: Codable, Sendable {
    /// The name of the file, without its folder.
    static var fileName: String { get }
    /// Bytes; a larger file is damaged.
    static var sizeLimit: Int { get }
    /// Whether it is written so that people can read it, a line for each value.
    static var isForPeople: Bool { get }
    /// Whether it can be what was written; else the file is damaged.
    var isSound: Bool { get }
    /// Whether it says nothing, so that there is no file.
    var isNothing: Bool { get }
}

extension SmallFileContent {
    /// A megabyte is read at most.
    package static var sizeLimit: Int { 1 << 20 }
    /// People can read it.
    package static var isForPeople: Bool { true }
    /// Whatever can be decoded makes sense.
    package var isSound: Bool { true }
    /// There is a file whatever it says.
    package var isNothing: Bool { false }
}

/// The small files beside the database: what must survive its loss.
///
/// Each exists twice, because flash loses single blocks. The copy is written after the file, and read when the file is
/// unusable. An unreadable file is moved aside and reported; it never prevents the start.
package struct SmallFiles: Sendable {
    private let directory: StateDirectory

    /// Makes no file yet.
    package init(_ directory: StateDirectory) {
        self.directory = directory
    }

    /// Removes other files of the directory, durably.
    package func remove(where isDoomed: (String) -> Bool) throws(SystemError) {
        let doomed = try directory.names().filter(isDoomed)
        guard !doomed.isEmpty else { return }
        for name in doomed { try directory.remove(name) }
        try directory.synchronise()
    }

    /// Removes a file with its copy, durably.
    package func remove(_ content: (some SmallFileContent).Type) throws(SystemError) {
        for name in [content.fileName, Self.copy(of: content.fileName)] { try directory.remove(name) }
        try directory.synchronise()
    }

    /// Names of the small files in the state directory.
    package enum Name {
        /// The identity of this installation.
        package static let identity = "identity.json"
        /// What was last requested.
        package static let intent = "intent.json"
        /// What SetExtras has changed.
        package static let extras = "extras.json"
        /// The name of the file with the geofences.
        package static let geofences = "geofences.json"
        /// Which of them the vehicle is inside of.
        package static let inside = "geofences-inside.json"
        /// Metres since installation.
        package static let odometer = "odometer.json"
        /// Which signed commands have been begun.
        package static let commands = "commands.json"
        /// What was last known of ignition and external power.
        package static let vehicle = "vehicle.json"
        /// Where Home Assistant has been told of this vehicle.
        package static let announcements = "announcements.json"
    }

    /// The content of a file, and what was wrong with it.
    package struct Reading<Content: Sendable>: Sendable {
        /// nil when there is nothing, or nothing readable.
        package var content: Content?
        /// What was wrong, and what was done about it.
        package var trouble: Trouble?

        /// The content as another type; nothing where that cannot be made of it.
        package func map<Other: Sendable>(_ other: (Content) -> Other?) -> Reading<Other> {
            Reading<Other>(content: content.flatMap(other), trouble: trouble)
        }
    }

    /// A small file that was unusable.
    package struct Trouble: Equatable, Sendable {
        /// Name of the file, without its folder.
        package var name: String
        /// What is wrong with the file.
        package var reason: String
        /// The path under which it is kept; nil when it is not there, or could not be moved aside.
        package var aside: String?
        /// The copy of the file was good and has replaced it.
        package var isRestored = false
        /// The file may be intact and only unreadable now: it is not overwritten.
        package var isPassing = false
        /// The disk does not give it.
        var isOfDisk = false

        /// For the log: what happened to the file.
        package var text: String {
            let kept = aside.map { "; it is kept as \($0)" } ?? ""
            return "\(name) is of no use (\(reason))\(kept)"
                + (isRestored ? ", and its copy has taken its place" : "")
        }
    }

    private static func copy(of name: String) -> String { name + ".copy" }

    /// The content as last written, or that of the copy. An unusable file is moved aside.
    package func read<Content: SmallFileContent>(_: Content.Type) -> Reading<Content> {
        let name = Content.fileName
        let (bytes, found, trouble): ([UInt8], Content?, Trouble?) = readOne(name)
        if let found {
            // Completes what an interruption between the two writes, or an earlier version, has left undone.
            if hasCopy(name), (try? directory.read(Self.copy(of: name), limit: Content.sizeLimit)) != bytes {
                writeCopy(name, bytes)
            }
            return Reading(content: found, trouble: nil)
        }
        guard hasCopy(name) else { return Reading(content: nil, trouble: trouble) }
        let (copied, content, other): ([UInt8], Content?, Trouble?) = readOne(Self.copy(of: name))
        guard let content else {
            // What may still be intact decides, the file before its copy: nothing takes its place.
            let found = [trouble, other].compactMap(\.self)
            return Reading(content: nil, trouble: found.first(where: \.isPassing) ?? found.first)
        }
        var reported = trouble ?? Trouble(name: name, reason: "it is gone")
        if reported.isOfDisk { reported = moveAside(name, reported.reason) }
        reported.isRestored = !reported.isPassing
        // Written again at the next start if that fails now.
        if !reported.isPassing { try? directory.replace(name, with: copied) }
        return Reading(content: content, trouble: reported)
    }

    private func readOne<Content: SmallFileContent>(
        _ name: String
    ) -> (bytes: [UInt8], content: Content?, trouble: Trouble?) {
        do throws(SystemError) {
            guard let bytes = try directory.read(name, limit: Content.sizeLimit) else {
                return ([], nil, nil)
            }
            if let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), content.isSound {
                return (bytes, content, nil)
            }
            let reason = bytes.isEmpty ? "empty" : bytes.allSatisfy { $0 == 0 } ? "zeros" : "damaged"
            return ([], nil, moveAside(name, reason))
        } catch {
            switch error.code {
            // Too many files are open, there is no memory, or it is not ours to open: it may be intact.
            case EMFILE, ENFILE, ENOMEM, EACCES, EPERM:
                return ([], nil, Trouble(name: name, reason: error.advice, isPassing: true))
            // The disk may give it again; a copy that it gives can take its place.
            case EIO:
                let reason = error.description
                return ([], nil, Trouble(name: name, reason: reason, isPassing: true, isOfDisk: true))
            default: return ([], nil, moveAside(name, error.description))
            }
        }
    }

    private func moveAside(_ name: String, _ reason: String) -> Trouble {
        Trouble(name: name, reason: reason, aside: try? directory.moveAside(name))
    }

    /// Durable when it returns.
    package func write<Content: SmallFileContent>(_ content: Content) throws(SystemError) {
        if content.isNothing { return try remove(Content.self) }
        try write(content, to: Content.fileName)
    }

    /// Keeps the identity of another machine beside its database, durably.
    package func write(foreign identity: StoredIdentity, beside database: String) throws(SystemError) {
        try write(identity, to: Self.foreignName(beside: database))
    }

    /// The name under which the identity of another machine is kept beside its database.
    package static func foreignName(beside database: String) -> String {
        Name.identity + database.dropFirst("beekon.db".count)
    }

    private func write<Content: SmallFileContent>(_ content: Content, to name: String) throws(SystemError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = Content.isForPeople ? [.sortedKeys, .prettyPrinted] : .sortedKeys
        guard let encoded = try? encoder.encode(content) else {
            throw SystemError("encode " + name, code: EINVAL)
        }
        let bytes = [UInt8](encoded) + [UInt8(ascii: "\n")]
        try directory.replace(name, with: bytes)
        if hasCopy(name) { writeCopy(name, bytes) }
    }

    /// The one file is itself a copy of what the database contains, the others are for people.
    private func hasCopy(_ name: String) -> Bool {
        name != Name.inside && !name.hasPrefix(Name.identity + ".foreign-")
    }

    /// An old copy is worse than none: it could restore what the user has ended.
    private func writeCopy(_ name: String, _ bytes: [UInt8]) {
        do {
            try directory.replace(Self.copy(of: name), with: bytes)
        } catch {
            try? directory.remove(Self.copy(of: name))
        }
    }
}
