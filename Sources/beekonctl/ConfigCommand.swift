import ArgumentParser
import ControlProtocol
import ControlTool
import Doctor

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show, change or check the configuration.",
        discussion: """
            What is set here takes effect with the next fix, overrides all files, and survives restarts and upgrades.

            EXAMPLES:
              beekonctl config show tracking --origin
              beekonctl config set tracking.interval_seconds=10
              beekonctl config unset tracking.interval_seconds
              beekonctl config check
            """,
        subcommands: [Show.self, Set.self, Unset.self, Check.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the configuration in effect; secrets appear as (set).",
            discussion: """
                EXAMPLES:
                  beekonctl config show
                  beekonctl config show sync gpsd.host --origin
                  beekonctl config show --json | jq '.settings[] | select(.origin == "runtime")'
                """)

        @OptionGroup var common: CommonOptions

        @Flag(
            help:
                "Also show where each value comes from: default, file and line, server (a command of it), or runtime (config set)."
        )
        var origin = false

        @Argument(
            help: "Only these keys, or tables such as tracking.", completion: .list(ConfigurationCheck.keys))
        var names: [String] = []

        func run() throws {
            try common.run {
                var client = try common.connect()
                let all = try client.call(Wire.GetConfig.self, .init()).settings
                let chosen = try ConfigText.chosen(all, named: names)
                try common.print(
                    Wire.GetConfig.Result(settings: chosen),
                    text: ConfigText.table(
                        chosen, withOrigin: origin,
                        width: CommonOptions.columns ?? ConfigText.unlimited))
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set values, all or none, and show the result.",
            discussion: """
                All of gpsd, store and log, and all of sync and of each destination except interval_seconds, \
                batch_size and sync_threshold, require root or group beekon-admin. Destinations are made in \
                configuration files only. Only root may change where secrets of the configuration files are sent. \
                Secrets and file names cannot be set here: put them into the configuration file, and give new tokens \
                to beekonctl auth seed.

                The result is shown once nothing is begun by earlier settings any more, also by the upload. Destinations \
                that do not come to that within 2 seconds are named.

                EXAMPLES:
                  beekonctl config set tracking.interval_seconds=10 tracking.distance_meters=0
                  sudo beekonctl config set sync.url=https://api.example.com/locations
                  beekonctl config set destination.home.interval_seconds=20
                """)

        @OptionGroup var common: CommonOptions

        @Argument(
            help: "A key and its value, separated by =.",
            completion: .list(ConfigurationCheck.keys.map { $0 + "=" }))
        var pairs: [String]

        func run() throws {
            try common.run {
                var client = try common.connect()
                let before = try client.call(Wire.GetConfig.self, .init()).settings
                var wanted: [String: JSONValue] = [:]
                for pair in pairs {
                    let (key, value) = try ConfigText.pair(pair, among: before)
                    guard wanted.updateValue(value, forKey: key) == nil else {
                        throw Failure("\(key) is given twice: write it once", exitCode: 64)
                    }
                }
                let result = try client.call(
                    Wire.Configure.self, .init(settings: wanted), timeoutSeconds: 60)
                CommonOptions.warn(ofLate: result.adopting)
                let chosen = try printSettings(common, &client) { wanted[$0] != nil }
                for text in ConfigText.differences(chosen, from: wanted) {
                    CommonOptions.warn(Text.safe(text))
                }
            }
        }
    }

    struct Unset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unset", abstract: "Undo config set, and show the result.",
            discussion: """
                The values of the server, from the files, or the defaults, apply again. With --server it is what the \
                server has set that is undone; the server may set it again, unless the files forbid that.

                EXAMPLES:
                  beekonctl config unset tracking.interval_seconds
                  sudo beekonctl config unset --all
                  beekonctl config unset --server --all
                """)

        @OptionGroup var common: CommonOptions

        @Flag(
            help:
                "Every setting that config show --origin lists as runtime; with --server, all of the server's."
        )
        var all = false

        @Flag(help: "What the server has set, not what config set has.")
        var server = false

        @Argument(help: "A key.", completion: .list(ConfigurationCheck.keys))
        var keys: [String] = []

        func validate() throws {
            guard all != !keys.isEmpty else {
                throw ValidationError("name keys, or give --all")
            }
        }

        func run() throws {
            try common.run {
                var client = try common.connect()
                if server { return try unsetServers(&client) }
                var names = keys
                if all {
                    let settings = try client.call(Wire.GetConfig.self, .init()).settings
                    names = settings.filter { $0.origin == "runtime" }.map(\.key)
                }
                let result = try client.call(
                    Wire.ResetConfig.self, .init(keys: names), timeoutSeconds: 60)
                CommonOptions.warn(ofLate: result.adopting)
                if names.isEmpty { CommonOptions.warn("nothing was set at runtime") }
                try printSettings(common, &client) { names.contains($0) }
            }
        }

        private func unsetServers(_ client: inout ControlClient) throws {
            let before = try client.call(Wire.GetConfig.self, .init()).settings
            let result = try client.call(
                Wire.ResetServerConfig.self, .init(keys: all ? nil : keys), timeoutSeconds: 60)
            CommonOptions.warn(ofLate: result.adopting)
            if result.removed == 0 { CommonOptions.warn("the server has set none of that") }
            let served = Swift.Set(before.filter { $0.origin == "server" }.map(\.key))
            try printSettings(common, &client) { all ? served.contains($0) : keys.contains($0) }
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Check configuration files for mistakes; works without beekond.",
            discussion: """
                Without FILE, checks what beekond would read: its configuration file, *.toml in the folder beside \
                it, and what was set at runtime. Exits with 78 if there are mistakes.

                EXAMPLES:
                  sudo beekonctl config check
                  beekonctl config check ./beekond.toml && sudo cp beekond.toml /etc/beekond/
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "A configuration file.", completion: .file(extensions: ["toml"]))
        var file: String?

        func run() throws {
            var isGood = true
            try common.run {
                let check = try ConfigurationCheck(file: file, socket: common.path)
                isGood = check.ok
                if isGood || common.json {
                    try common.print(check, text: check.lines)
                } else {
                    for line in check.lines { CommonOptions.warn(line) }
                }
            }
            if !isGood { throw ExitCode(78) }
        }
    }
}

/// Prints the current values of the chosen settings.
@discardableResult
private func printSettings(
    _ common: CommonOptions, _ client: inout ControlClient, where isChosen: (String) -> Bool
) throws -> [Wire.Setting] {
    let chosen = try client.call(Wire.GetConfig.self, .init()).settings.filter { isChosen($0.key) }
    try common.print(Wire.GetConfig.Result(settings: chosen), text: ConfigText.lines(chosen))
    return chosen
}
