import FoundationEssentials
import Testing

@testable import DaemonConfiguration

/// A temporary configuration folder that goes away with the test.
final class Workshop {
    let folder: String
    var file: String { folder + "/beekond.toml" }
    var places: SecretPlaces {
        SecretPlaces(configurationRoots: [folder], credentialsDirectory: folder + "/cred")
    }

    init() throws {
        folder = "/tmp/beekond-configuration-\(UUID().uuidString)"
        for name in ["", "/beekond.d", "/cred"] {
            try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: true)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func write(_ text: String, to name: String = "beekond.toml", mode: Int = 0o640) throws {
        try write(Data(text.utf8), to: name, mode: mode)
    }

    func write(_ data: Data, to name: String, mode: Int = 0o640) throws {
        try data.write(to: URL(filePath: "\(folder)/\(name)"))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(folder)/\(name)")
    }

    func load(_ text: String? = nil, runtime: [String: SettingValue] = [:]) throws(ConfigurationError)
        -> Loaded
    {
        if let text { try? write(text) }
        return try Loader.load(file: file, isDefaultPath: false, runtime: runtime, places: places)
    }

    func problems(_ text: String? = nil, runtime: [String: SettingValue] = [:]) -> [ConfigurationError
        .Problem]
    {
        do throws(ConfigurationError) {
            _ = try load(text, runtime: runtime)
            return []
        } catch { return error.problems }
    }
}
