import ArgumentParser

/// Where the configuration is, for verbs that read it themselves.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: "The configuration of beekond (default: the one it runs with, else /etc/beekond/beekond.toml).",
        completion: .file(extensions: ["toml"]))
    var path: String?
}
