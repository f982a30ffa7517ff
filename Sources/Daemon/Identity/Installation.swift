internal import Storage
internal import Upload

/// Judges whether this is the machine that an installation was made on, or one that received a copy of its disk.
/// Pure.
///
/// A sign that is missing, today or then, proves nothing: on most PCs only root can read serial numbers, and a
/// machine-id may not be known yet.
enum Installation {
    /// What identifies a machine: digests, by the name of the trait.
    typealias Signs = [String: String]

    enum Verdict: Equatable {
        /// This machine is the same, as far as can be told, with all of its signs known from now on.
        case same(Signs)
        /// Another machine; the text says how that was recognised.
        case other(String)
    }

    /// The name of the sign.
    static let machineID = "machine-id"

    /// Whether `found` is the machine that was `known`.
    ///
    /// Hardware counts as different when none of its serial numbers match: a repair may change one of them, and
    /// manufacturers give whole series the same number.
    static func judge(_ known: Signs, _ found: Signs) -> Verdict {
        let common = known.keys.filter { found[$0] != nil }
        let serials = common.filter { $0 != machineID }
        // An update or a new installation of the system gives the same machine another id.
        if serials.contains(where: { known[$0] == found[$0] }) { return .same(known.merging(found) { $1 }) }
        if common.contains(machineID), known[machineID] != found[machineID] {
            return .other("/etc/machine-id")
        }
        if !serials.isEmpty {
            return .other("the serial number of the hardware")
        }
        return .same(known.merging(found) { $1 })
    }

    /// Whether a sign of that machine is there, and none speaks against it.
    static func isRecognised(_ known: Signs, _ found: Signs) -> Bool {
        guard case .same = judge(known, found) else { return false }
        return known.contains { found[$0.key] == $0.value }
    }

    /// What an identity file says about its machine, in either layout of the file.
    static func signs(of identity: StoredIdentity) -> Signs {
        if let signs = identity.signs { return signs }
        var signs = Signs()
        signs[machineID] = identity.machineID.flatMap(machineID(in:))
        return signs
    }

    /// nil for an empty file, or one that contains "uninitialized".
    static func machineID(in text: String) -> String? {
        let id = text.prefix { $0 > " " }.lowercased()
        guard id.utf8.count == 32, id.allSatisfy(\.isHexDigit), Set(id).count > 1 else { return nil }
        return digest(id)
    }

    /// Placeholders that manufacturers leave instead of a number.
    private static let placeholders: Set<String> = [
        "to be filled by o.e.m.", "to be filled by oem", "default string", "default", "none", "null", "n/a",
        "na", "not specified",
        "not applicable", "not available", "not set", "not present", "unknown", "invalid", "empty", "oem",
        "o.e.m.", "serial",
        "serial number", "system serial number", "base board serial number", "board serial number",
        "123456789", "0123456789",
        "1234567890", "12345678", "01234567890123456789", "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009", "12345678-1234-5678-90ab-cddeefaabbcc",
    ]

    /// nil for anything that is not the number of a single machine.
    static func serial(in text: String) -> String? {
        let printable = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7F }
        let words = String(String.UnicodeScalarView(printable)).lowercased().split(separator: " ")
        let serial = words.joined(separator: " ")
        // 0, 00000000, ffffffff-ffff-…, xxxxxxx, dots.
        let isOneCharacter = Set(serial.filter { $0 != "-" && $0 != " " }).count < 2
        guard !isOneCharacter, !placeholders.contains(serial) else { return nil }
        return digest(serial)
    }

    private static func digest(_ text: String) -> String {
        SHA256.hex(SHA256.digest(Array(("org.beekond.installation " + text).utf8)))
    }

    /// - Parameter table: /proc/self/mountinfo, whose fifth column is the mount point, with some bytes in octal.
    static func isMountPoint(_ path: String, table: String) -> Bool {
        var escaped = ""
        for character in path {
            switch character {
            case " ": escaped += "\\040"
            case "\t": escaped += "\\011"
            case "\n": escaped += "\\012"
            case "\\": escaped += "\\134"
            default: escaped.append(character)
            }
        }
        return table.split(separator: "\n").contains { line in
            let columns = line.split(separator: " ", maxSplits: 5)
            return columns.count > 4 && columns[4] == escaped
        }
    }

    /// The type of the file system that holds `path`; nil when the table does not tell. Of mounts over each other the
    /// last counts.
    static func fileSystem(of path: String, table: String) -> String? {
        var best: (length: Int, type: String)?
        for line in table.split(separator: "\n") {
            let columns = line.split(separator: " ")
            guard columns.count > 4, let dash = columns.firstIndex(of: "-"), dash + 1 < columns.count else {
                continue
            }
            let point = columns[4]
            guard point == "/" || path == point || path.hasPrefix(point + "/") else { continue }
            if point.count >= best?.length ?? 0 { best = (point.count, String(columns[dash + 1])) }
        }
        return best?.type
    }
}
