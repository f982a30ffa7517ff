/// The configuration files as they were read, and good by themselves: what is set while running is laid over them.
package struct Layers: Sendable {
    /// Runtime settings at most, those that are left out included: more than there are keys and extras.
    package static let limit = 1024

    let files: SettingsBuilder
    let base: Loaded
    private var forgetsSeeds = false
    /// The settings made while running are lost: until somebody makes some, nothing is deleted that they may have kept.
    package var lacksRuntime = false
    /// What the server may set, for tests; nil: what the files say.
    var serverRights: ServerRights?

    /// - Throws: what is wrong with the files.
    init(_ files: SettingsBuilder) throws(ConfigurationError) {
        self.files = files
        var whole = files
        base = try whole.finish()
    }

    /// The layers without tokens to begin with: see ``Loaded/withoutSeeds``.
    package var withoutSeeds: Layers {
        var layers = self
        layers.forgetsSeeds = true
        return layers
    }

    /// Files and runtime settings together.
    package struct Result: Sendable, Equatable {
        package let loaded: Loaded
        /// Runtime settings that are invalid, or do not go with the rest: names, and why. None of them is in force.
        package let leftOut: [String: String]
        /// What became of the server's settings.
        package var server = ServerPart()
    }

    /// Lays runtime settings over the files. Invalid ones are left out: no file of them may stop the daemon.
    ///
    /// - Parameters:
    ///   - runtime: by dotted name.
    ///   - approved: see ``Decision/approved``.
    ///   - suspects: those that give way first where some do not go together.
    ///   - server: what the server has set, by dotted name: it lies between the files and `runtime`, and gives way to both.
    package func loaded(
        with runtime: [String: SettingValue], approved: Set<String> = [], suspects: Set<String> = [],
        server: [String: SettingValue] = [:]
    ) -> Result {
        var kept = runtime
        var leftOut: [String: String] = [:]
        for (name, value) in runtime {
            guard let complaint = custodyComplaint(about: name, value, approved: approved) else { continue }
            leftOut[name] = complaint
            kept[name] = nil
        }
        let local = settled(&kept, leftOut, suspects)
        return server.isEmpty ? local : laid(server, below: kept, local, suspects: suspects)
    }

    /// - Parameter kept: what is set; afterwards only what is good.
    private func settled(
        _ kept: inout [String: SettingValue], _ leftOut: [String: String], _ suspects: Set<String>
    ) -> Result {
        var leftOut = leftOut
        while true {
            var whole = files
            for (name, message) in whole.add(runtime: kept) {
                leftOut[name] = message
                kept[name] = nil
            }
            do throws(ConfigurationError) {
                return Result(loaded: finished(try whole.finish(), leftOut), leftOut: leftOut)
            } catch {
                // The files alone are good: there is somebody to blame as long as anything is kept.
                guard !kept.isEmpty else { return Result(loaded: finished(base, leftOut), leftOut: leftOut) }
                for (name, reason) in culprits(
                    of: error, conflicts: whole.conflicts, among: kept, suspects)
                {
                    leftOut[name] = reason
                    kept[name] = nil
                }
            }
        }
    }

    /// The names in `kept` that are to blame, at least one, and why.
    ///
    /// - Parameter above: adds what is laid over them.
    func culprits(
        of error: ConfigurationError, conflicts: [String], among kept: [String: SettingValue],
        _ suspects: Set<String>, over above: (inout SettingsBuilder) -> Void = { _ in }
    ) -> [String: String] {
        let named = conflicts.filter { kept[$0] != nil }
        let names = named.isEmpty ? culprit(kept, suspects, above).map { [$0] } ?? [] : named
        let own = Dictionary(error.problems.map { ($0.key, $0.message) }) { first, _ in first }
        return Dictionary(
            names.map { ($0, own[$0.escaped] ?? error.problems.first.map(Self.clash) ?? "") }
        ) { $1 }
    }

    func finished(_ loaded: Loaded, _ leftOut: [String: String]) -> Loaded {
        var loaded = forgetsSeeds ? loaded.withoutSeeds : loaded
        if lacksRuntime { loaded = loaded.holdingRows }
        let mayHaveURL = lacksRuntime || leftOut["sync.url"] != nil
        return mayHaveURL && loaded.settings.sync == nil ? loaded.awaitingSync : loaded
    }

    private static func clash(_ problem: ConfigurationError.Problem) -> String {
        "does not go with the rest: \(problem)"
    }

    /// One without which the rest is good, else any.
    private func culprit(
        _ kept: [String: SettingValue], _ suspects: Set<String>, _ above: (inout SettingsBuilder) -> Void
    ) -> String? {
        let names = kept.keys.sorted { left, right in
            let (isLeft, isRight) = (suspects.contains(left), suspects.contains(right))
            return isLeft == isRight ? left > right : isLeft
        }
        let alone = names.first { name in
            var whole = files
            whole.add(runtime: kept.filter { $0.key != name })
            above(&whole)
            return (try? whole.finish()) != nil
        }
        return alone ?? names.first
    }
}
