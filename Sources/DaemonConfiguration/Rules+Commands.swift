internal import Base

// What a server may be allowed to ask for.

extension Rules {
    /// Settings of a destination that its own server may change.
    static let serverRows = ["sync.interval_seconds", "sync.sync_threshold", "sync.batch_size"]

    static func serverCommand(_ text: String) -> String? {
        let names = Settings.Commands.Name.allCases.map(\.rawValue)
        guard !names.contains(text) else { return nil }
        let hint = Nearest.name(to: text, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
        return "is not a command of a server; use \(names.joined(separator: ", "))\(hint)"
    }

    /// A server has the rights of a member of group beekon, and less.
    static func serverSetting(_ text: String) -> String? {
        guard let key = Key.exactly(text) ?? Key.named(text)?.key else { return Key.unknown(text) }
        let may =
            "; it may change settings of tracking, extras, and of its own destination interval_seconds, sync_threshold "
        let end = "and batch_size"
        if key.needsAdmin || key.isFileOnly || key.isPath || key.isSecret {
            return "can be changed by administrators alone, and a server is none\(may)\(end)"
        }
        // How beekonctl shows things is for the people who use it.
        guard !key.name.hasPrefix("display."), key.owner == nil || serverRows.contains(key.row) else {
            return "can never be changed by a server\(may)\(end)"
        }
        return nil
    }

    static func verifyKey(_ text: String) -> String? {
        do throws(OpenFile.Refusal) {
            guard text.hasPrefix("/"), text.isOneLine else {
                return "must be an absolute path, beginning with /"
            }
            _ = try VerifyKeyFile.read(text)
            return nil
        } catch { return error.message }
    }
}
