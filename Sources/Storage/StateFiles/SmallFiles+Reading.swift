internal import FoundationEssentials
internal import Glibc
internal import Linux

/// Each small file exists twice, because flash loses single blocks. The copy is written after the file, and read when
/// the file is unusable.
extension SmallFiles {
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

    static func copy(of name: String) -> String { name + ".copy" }

    func read<Content: Decodable & Sendable>(
        _ name: String, limit: Int = 1 << 20, where isGood: (Content) -> Bool = { _ in true }
    ) -> Reading<Content> {
        let (bytes, found, trouble) = readOne(name, limit, isGood)
        if let found {
            // Completes what an interruption between the two writes, or an earlier version, has left undone.
            if hasCopy(name), (try? directory.read(Self.copy(of: name), limit: limit)) != bytes {
                writeCopy(name, bytes)
            }
            return Reading(content: found, trouble: nil)
        }
        guard hasCopy(name) else { return Reading(content: nil, trouble: trouble) }
        let (copied, content, other) = readOne(Self.copy(of: name), limit, isGood)
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

    private func readOne<Content: Decodable>(
        _ name: String, _ limit: Int, _ isGood: (Content) -> Bool
    ) -> (bytes: [UInt8], content: Content?, trouble: Trouble?) {
        do throws(SystemError) {
            guard let bytes = try directory.read(name, limit: limit) else { return ([], nil, nil) }
            if let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), isGood(content) {
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
    func write(_ name: String, _ content: some Encodable, isLarge: Bool = false) throws(SystemError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = isLarge ? .sortedKeys : [.sortedKeys, .prettyPrinted]
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
