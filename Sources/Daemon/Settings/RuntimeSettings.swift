internal import ControlProtocol
internal import DaemonConfiguration
internal import FoundationEssentials
internal import Glibc
internal import Linux

/// A file of settings made while running, in the state directory: `settings.json` for those that were made here,
/// `server-settings.json` for the server's. What it holds is not trusted.
struct RuntimeSettings {
    /// Who has made the settings.
    enum Maker {
        case local
        case server

        var file: String {
            switch self {
            case .local: "settings.json"
            case .server: "server-settings.json"
            }
        }

        /// In sentences.
        var settings: String {
            switch self {
            case .local: "the settings made while running"
            case .server: "the settings of the server"
            }
        }

        /// What follows from their loss.
        var consequence: String {
            switch self {
            case .local:
                ", and the files apply; nothing stored is deleted for its age or for the cap of rows until one is set or "
                    + "unset (beekonctl config)"
            case .server:
                ", until it sets some again, or beekonctl config unset --server --all says that there are none"
            }
        }
    }

    /// What the file says, or its copy.
    struct LoadResult: Equatable {
        var values: [String: SettingValue] = [:]
        /// What root has approved: see `Layers.Decision`.
        var approved: Set<String> = []
        /// What is wrong with the file, and what was done about it.
        var complaint: String?
        /// The file is there and may be whole, only it cannot be read now: nothing may be written over it.
        var isUnreadable = false
        /// There were settings, and they are lost.
        var isLost = false
    }

    private struct Content: Codable {
        var version: Int
        var settings: [String: JSONValue]
        /// Absent in files of earlier versions, which do not record who made a setting.
        var approved: [String]?
    }

    /// For a file of which only the version can be read.
    private struct Version: Decodable {
        var version: Int
    }

    /// The file of the settings that were made here.
    static let name = Maker.local.file
    private static let version = 1
    private let directory: StateDirectory
    private let maker: Maker

    private var name: String { maker.file }
    private var copy: String { name + ".copy" }

    init(_ directory: StateDirectory, of maker: Maker = .local) {
        self.directory = directory
        self.maker = maker
    }

    /// Reads it, or its copy when it cannot be used. An unusable file is moved aside, so that a new one can be written.
    func load() -> LoadResult {
        let (bytes, own) = readOne(name)
        if let bytes {
            // An interruption between the two writes, or an earlier version, may have left no copy, or an old one.
            if (try? directory.read(copy)) != bytes { writeCopy(bytes) }
            return own
        }
        let (copied, other) = readOne(copy)
        guard let copied else {
            var found = own
            found.complaint =
                (own.complaint ?? other.complaint).map { $0 + maker.consequence }
                ?? lossComplaint()
            found.isLost = found.complaint != nil
            return found
        }
        var found = other
        let reason = own.complaint ?? "\(maker.settings) are gone"
        found.complaint =
            ([reason + "; their copy has taken their place"] + (other.complaint.map { [$0] } ?? []))
            .joined(separator: "; ")
        found.isUnreadable = own.isUnreadable
        // Written again at the next start if that fails now.
        if !own.isUnreadable { try? directory.replace(name, with: copied) }
        return found
    }

    /// Settings that an earlier start moved aside, and nobody has made again since.
    private func lossComplaint() -> String? {
        let asides = ((try? directory.names()) ?? []).filter { $0.hasPrefix(name + ".aside-") }
        return asides.last.map {
            "\(maker.settings) are lost (\($0))" + maker.consequence
        }
    }

    /// - Returns: the bytes when they can be used.
    private func readOne(_ name: String) -> (bytes: [UInt8]?, found: LoadResult) {
        let bytes: [UInt8]?
        do {
            bytes = try directory.read(name)
        } catch {
            switch error.code {
            // It is a link, a directory, too large, or somebody else's.
            case ELOOP, EINVAL, EISDIR, EFBIG: return (nil, moveAside(name, error.description))
            default:
                let text = "\(maker.settings) cannot be read (\(error.advice))"
                return (nil, LoadResult(complaint: text, isUnreadable: true))
            }
        }
        guard let bytes else { return (nil, LoadResult()) }
        let decoder = JSONDecoder()
        guard let content = try? decoder.decode(Content.self, from: Data(bytes)),
            content.version == Self.version
        else {
            let found = try? decoder.decode(Version.self, from: Data(bytes))
            let isOther = found.map { $0.version != Self.version } ?? false
            return (nil, moveAside(name, isOther ? "of another version of beekond" : "damaged"))
        }
        guard content.settings.count <= Layers.limit else {
            return (nil, moveAside(name, "more than \(Layers.limit) settings"))
        }
        let values = content.settings.compactMapValues { ProposedValue($0).value }
        let others = content.settings.keys.filter { values[$0] == nil }
        let found = LoadResult(
            values: values,
            approved: Set(content.approved ?? []).filter { values[Layers.setting(approvedBy: $0)] != nil },
            complaint: others.isEmpty
                ? nil
                : "no value that a setting can have, in \(maker.settings): "
                    + Configurator.list(others))
        return (bytes, found)
    }

    private func moveAside(_ name: String, _ reason: String) -> LoadResult {
        let start = "\(maker.settings) are invalid (\(reason)): "
        do {
            return LoadResult(complaint: start + "they are kept as \(try directory.moveAside(name))")
        } catch {
            return LoadResult(complaint: start + "they cannot be moved aside (\(error))")
        }
    }

    /// The bytes of the file.
    static func encode(_ values: [String: SettingValue], approved: Set<String> = []) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let content = Content(
            version: version, settings: values.mapValues { JSONValue($0) },
            approved: approved.isEmpty ? nil : approved.sorted())
        return [UInt8](try encoder.encode(content)) + [UInt8(ascii: "\n")]
    }

    /// Writes it durably. After a failure the old content is in place.
    func replace(with bytes: [UInt8]) throws(SystemError) {
        let old = try? directory.read(name)
        do {
            try directory.replace(name, with: bytes)
        } catch {
            // The rename may have happened before the directory failed: what was refused must not come into force.
            if let present = try? directory.read(name), present == bytes, present != old {
                if let old {
                    try? directory.replace(name, with: old)
                } else {
                    try? directory.remove(name)
                }
            }
            throw error
        }
        writeCopy(bytes)
    }

    /// An old copy is worse than none: it could bring back what has been reset.
    private func writeCopy(_ bytes: [UInt8]) {
        do {
            try directory.replace(copy, with: bytes)
        } catch {
            try? directory.remove(copy)
        }
    }
}

extension JSONValue {
    init(_ value: SettingValue) {
        self =
            switch value {
            case .bool(let flag): .bool(flag)
            case .integer(let number): .integer(Int64(number))
            case .number(let number): .number(number)
            case .string(let text): .string(text)
            case .list(let texts): .array(texts.map { .string($0) })
            }
    }
}

extension ProposedValue {
    init(_ value: JSONValue) {
        self =
            switch value {
            case .bool(let flag): .value(.bool(flag))
            case .integer(let number): .value(.integer(Int(number)))
            case .number(let number): .value(.number(number))
            case .string(let text): .value(.string(text))
            case .null: .other("null")
            case .array(let values):
                values.allSatisfy { $0.stringValue != nil }
                    ? .value(.list(values.compactMap(\.stringValue))) : .other("a list")
            case .object: .other("an object")
            }
    }

    var value: SettingValue? {
        if case .value(let value) = self { value } else { nil }
    }
}
