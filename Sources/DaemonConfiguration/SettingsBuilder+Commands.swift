// What only shows in the whole of a table of commands: it must not be possible to silence a vehicle with it, to listen in,
// or to give commands over a way that others can write to.

extension SettingsBuilder {
    /// Reads the keys, and looks at each table; one destination at most may have one that is in use.
    mutating func checkCommands() {
        var first: String?
        for name in names where draft[name].commands.isEnabled {
            let table = Key.table(of: name) + ".commands"
            if let first {
                addProblem(
                    table + ".enabled",
                    "[\(first)] is enabled, too, and a vehicle obeys one server; remove one of the two")
            }
            first = first ?? table
            check(wayOfCommands(draft[name], name))
            check(contentOfCommands(draft[name].commands, draft[name].format.name, table))
            readKeys(of: name)
        }
        // A server may not be given a setting of another's destination, though nobody obeys it yet.
        for name in names {
            let table = Key.table(of: name) + ".commands"
            for setting in draft[name].commands.named {
                guard let owner = Key.exactly(setting)?.owner, owner != name else { continue }
                addProblem(
                    table + ".settings",
                    "“\(setting.escaped)” is a setting of another destination; use \(Key.table(of: name))"
                        + (Key.exactly(setting)?.row.dropFirst("sync".count) ?? ""))
            }
        }
    }

    private func wayOfCommands(_ own: DestinationDraft, _ name: String) -> [Rule] {
        let (table, slot) = (Key.table(of: name), Key.table(of: name) + ".commands.enabled")
        let address = WebAddress(own.sync.url)
        let isPlain = address?.scheme == "http"
        let isProxied = own.sync.proxy.map { WebAddress($0)?.isLoopback != true } ?? false
        return [
            (
                isPlain && address?.isLoopback == false, slot,
                "anybody on the path of an http url could command this vehicle, whatever \(table).allow_insecure_http says; "
                    + "use https"
            ),
            (
                isPlain && address?.isLoopback == true && isProxied, slot,
                "\(table).proxy, which is not on this host, could command this vehicle, because the url is http; use https"
            ),
            (
                own.sync.deliver == .latest, slot,
                "answers to \(table).deliver = \"latest\" are not read for commands; use a destination with deliver = \"all\""
            ),
            (
                own.sync.triggers.mode == .manual, slot,
                "with \(table).mode = \"manual\" there is no answer that could bring a command; remove one of the two"
            ),
        ]
    }

    private func contentOfCommands(
        _ own: CommandsDraft, _ format: Settings.Format.Name, _ table: String
    ) -> [Rule] {
        let allow = Set(own.allow.compactMap { Settings.Commands.Name(rawValue: $0) })
        let changes = !allow.isDisjoint(with: [.setConfig, .unsetConfig])
        let silent =
            "could silence this vehicle for good: format template has no heartbeat whose answer could bring another command; "
            + "remove it"
        return [
            (
                own.allow.isEmpty && !isBroken(table + ".allow"), table + ".enabled",
                "nothing is allowed; name the commands in \(table).allow, such as [\"start\", \"stop\"]"
            ),
            (
                allow.contains(.setConfig) && own.named.isEmpty && !isBroken(table + ".settings"),
                table + ".allow",
                "set_config can change nothing; name the settings in \(table).settings, or remove it"
            ),
            (
                !own.named.isEmpty && !own.allow.isEmpty && !changes, table + ".settings",
                "is about set_config and unset_config, and \(table).allow has neither; remove one of the two"
            ),
            (
                format == .template && allow.contains(.stop), table + ".allow", "stop " + silent
            ),
            (
                format == .template && own.named.contains("tracking.schedule"), table + ".settings",
                "tracking.schedule " + silent
            ),
        ]
    }

    private mutating func readKeys(of name: String) {
        var own = draft[name]
        for path in own.commands.keyFiles {
            do throws(OpenFile.Refusal) {
                let (key, warning) = try VerifyKeyFile.read(path)
                own.commands.keys.append(key)
                if let warning { warnings.append(warning) }
            } catch {
                addProblem(
                    Key.table(of: name) + ".commands.verify_keys", "\"\(path.escaped)\" \(error.message)")
            }
        }
        keep(own, of: name)
    }
}
