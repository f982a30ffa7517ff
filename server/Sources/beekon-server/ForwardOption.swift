import Forwards
import TOML

/// `[[forward]]` of the configuration: where batches are forwarded to.
enum ForwardOption {
    private static let names = [
        "name", "url", "subject", "topic", "token_file", "credentials_file", "user", "password_file",
        "ca_file", "unencrypted", "max_age_days", "max_bytes",
    ]

    /// - Returns: what is wrong, each with its line.
    static func read(
        _ node: TOMLNode, into targets: inout [ForwardTarget]
    ) -> [(line: Int, message: String)] {
        guard case .tables(let tables) = node.content else {
            return [(node.line, "forward is a list of tables, each with [[forward]] above it")]
        }
        var problems: [(line: Int, message: String)] = []
        for table in tables {
            var draft = ForwardTarget.Draft()
            let before = problems.count
            for name in table.names {
                guard let node = table[name] else { continue }
                if let complaint = take(name, node, &draft) { problems.append((node.line, complaint)) }
            }
            guard problems.count == before else { continue }
            do throws(ForwardTarget.Invalid) {
                let target = try ForwardTarget(draft)
                if targets.contains(where: { $0.name == target.name }) {
                    throw ForwardTarget.Invalid(
                        setting: "name", reason: "name '\(target.name)' is there twice")
                }
                guard targets.count < ForwardTarget.most else {
                    throw ForwardTarget.Invalid(
                        setting: "name", reason: "there are more than \(ForwardTarget.most) of [[forward]]")
                }
                targets.append(target)
            } catch {
                problems.append((table[error.setting]?.line ?? table.line, "forward: \(error.reason)"))
            }
        }
        return problems
    }

    private static func take(
        _ name: String, _ node: TOMLNode, _ draft: inout ForwardTarget.Draft
    ) -> String? {
        switch name {
        case "name": Settings.text(name, node, into: &draft.name)
        case "url": Settings.text(name, node, into: &draft.url)
        case "subject": Settings.text(name, node, into: &draft.subject)
        case "topic": Settings.text(name, node, into: &draft.topic)
        case "token_file": Settings.text(name, node, into: &draft.tokenFile)
        case "credentials_file": Settings.text(name, node, into: &draft.credentialsFile)
        case "user": Settings.text(name, node, into: &draft.user)
        case "password_file": Settings.text(name, node, into: &draft.passwordFile)
        case "ca_file": Settings.text(name, node, into: &draft.caFile)
        case "unencrypted": flag(name, node, into: &draft.isUnencrypted)
        case "max_age_days": Settings.number(name, node, ForwardTarget.ages, into: &draft.maxAgeDays)
        case "max_bytes": Settings.number(name, node, ForwardTarget.sizes, into: &draft.maxBytes)
        default:
            "there is no setting \(name.printable) in [[forward]]; there are " + names.joined(separator: ", ")
        }
    }

    private static func flag(_ name: String, _ node: TOMLNode, into value: inout Bool) -> String? {
        guard case .value(.bool(let isSet)) = node.content else { return "\(name) is true or false" }
        value = isSet
        return nil
    }
}
