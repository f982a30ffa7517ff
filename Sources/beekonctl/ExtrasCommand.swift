import ArgumentParser
import ControlProtocol
import ControlTool

struct ExtrasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extras",
        abstract: "Show or change the texts attached to every location.",
        discussion: """
            A change applies to locations stored from then on, survives restarts, and overrides [extras] in the \
            configuration.

            EXAMPLES:
              beekonctl extras show
              beekonctl extras set driver=7 trailer="B-AB 12"
              beekonctl extras unset trailer
            """,
        subcommands: [Show.self, Set.self, Unset.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the extras in effect.",
            discussion: """
                EXAMPLE:
                  beekonctl extras show --json | jq -r .extras.driver
                """)

        @OptionGroup var common: CommonOptions

        func run() throws {
            try common.run {
                var client = try common.connect()
                try show(try client.call(Wire.GetExtras.self, .init()).extras, common)
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set extras; others are left unchanged.",
            discussion: """
                EXAMPLE:
                  beekonctl extras set driver=7 trailer="B-AB 12"
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "A name and its text, separated by =.")
        var pairs: [String]

        func run() throws {
            try common.run {
                let changes = try pairs.map(ExtrasText.pair)
                try change(by: common) { extras in
                    for (name, text) in changes { extras[name] = text }
                }
            }
        }
    }

    struct Unset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unset", abstract: "Remove extras.",
            discussion: """
                EXAMPLE:
                  beekonctl extras unset trailer
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "A name.")
        var names: [String]

        func run() throws {
            try common.run {
                try change(by: common) { extras in
                    for name in names where extras.removeValue(forKey: name) == nil {
                        throw Failure(
                            "there is no extra \(Text.safe(name)): beekonctl extras show lists them",
                            exitCode: 65)
                    }
                }
            }
        }
    }
}

private func show(_ extras: [String: String], _ common: CommonOptions) throws {
    if extras.isEmpty && !common.json {
        CommonOptions.warn("no extras are set: beekonctl extras set name=text sets one")
    }
    try common.print(
        Wire.GetExtras.Result(extras: extras),
        text: ExtrasText.lines(extras, columns: CommonOptions.columns))
}

/// If two clients change extras at the same time, the later one wins.
private func change(
    by common: CommonOptions, _ change: (inout [String: String]) throws -> Void
) throws {
    var client = try common.connect()
    var extras = try client.call(Wire.GetExtras.self, .init()).extras
    try change(&extras)
    _ = try client.call(Wire.SetExtras.self, .init(extras: extras), timeoutSeconds: 60)
    try show(extras, common)
}
