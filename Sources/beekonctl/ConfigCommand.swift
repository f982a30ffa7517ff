import ArgumentParser
import ControlProtocol
import ControlTool
import Doctor

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show, change or check the configuration.",
        discussion: """
            What is set here counts from the next fix on, wins over all files, and outlives restarts and upgrades.

            EXAMPLES:
              beekonctl config show tracking --origin
              beekonctl config set tracking.interval_seconds=10
              beekonctl config unset tracking.interval_seconds
              beekonctl config check
            """,
        subcommands: [Show.self, Set.self, Unset.self, Check.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the configuration in force; secrets are (set).",
            discussion: """
                EXAMPLES:
                  beekonctl config show
                  beekonctl config show sync gpsd.host --origin
                  beekonctl config show --json | jq '.settings[] | select(.origin == "runtime")'
                """)

        @OptionGroup var common: CommonOptions

        @Flag(help: "Show as well where each value comes from: file and line, runtime, or default.")
        var origin = false

        @Argument(
            help: "Only these: keys, or tables such as tracking.", completion: .list(ConfigurationCheck.keys))
        var names: [String] = []

        func run() throws {
            try common.run {
                var client = try common.connect()
                let all = try client.call(Wire.GetConfig.self, .init()).settings
                let chosen = try ConfigText.chosen(all, named: names)
                try common.print(
                    Wire.GetConfig.Result(settings: chosen),
                    text: ConfigText.table(chosen, withOrigin: origin))
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set values, all or none, and show what holds then.",
            discussion: """
                All of gpsd and store, and all of sync but interval_seconds, batch_size and sync_threshold, need root \
                or group beekon-admin. Where secrets of the configuration files are sent, only root may change. Secrets and names of files cannot be set here: they belong into the configuration, \
                new tokens into beekonctl auth seed.

                EXAMPLES:
                  beekonctl config set tracking.interval_seconds=10 tracking.distance_meters=0
                  sudo beekonctl config set sync.url=https://api.example.com/locations
                """)

        @OptionGroup var common: CommonOptions

        @Argument(
            help: "A key and its value, with = between them.",
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
                _ = try client.call(Wire.Configure.self, .init(settings: wanted), timeoutSeconds: 60)
                let chosen = try common.printSettings(&client) { wanted[$0] != nil }
                for text in ConfigText.differences(chosen, from: wanted) {
                    CommonOptions.complain(Text.safe(text))
                }
            }
        }
    }

    struct Unset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unset", abstract: "Take back what was set, and show what holds then.",
            discussion: """
                The files count again, or the defaults.

                EXAMPLES:
                  beekonctl config unset tracking.interval_seconds
                  sudo beekonctl config unset --all
                """)

        @OptionGroup var common: CommonOptions

        @Flag(help: "Everything that config show --origin calls runtime.")
        var all = false

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
                var names = keys
                if all {
                    let settings = try client.call(Wire.GetConfig.self, .init()).settings
                    names = settings.filter { $0.origin == "runtime" }.map(\.key)
                }
                _ = try client.call(Wire.ResetConfig.self, .init(keys: names), timeoutSeconds: 60)
                if names.isEmpty { CommonOptions.complain("nothing was set while running") }
                try common.printSettings(&client) { names.contains($0) }
            }
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Look for mistakes in configuration files; beekond need not run.",
            discussion: """
                Without FILE it looks at what beekond would read: its file, *.toml in the folder beside it, and what \
                was set while it runs. Exits with 78 when there are mistakes.

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
                    for line in check.lines { CommonOptions.complain(line) }
                }
            }
            if !isGood { throw ExitCode(78) }
        }
    }
}

extension CommonOptions {
    /// Prints what holds now of these.
    @discardableResult
    fileprivate func printSettings(
        _ client: inout ControlClient, where isChosen: (String) -> Bool
    ) throws -> [Wire.Setting] {
        let chosen = try client.call(Wire.GetConfig.self, .init()).settings.filter { isChosen($0.key) }
        try print(Wire.GetConfig.Result(settings: chosen), text: ConfigText.lines(chosen))
        return chosen
    }
}
