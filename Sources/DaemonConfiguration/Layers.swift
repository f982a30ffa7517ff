/// The configuration files as they were read, and good by themselves: what is set while running is laid over them.
package struct Layers: Sendable {
    /// Runtime settings at most, those that are left out included: more than there are keys and extras.
    package static let limit = 1024

    let files: SettingsBuilder
    private let base: Loaded
    private var forgetsSeeds = false
    /// The settings made while running are lost: until somebody makes some, nothing is deleted that they may have kept.
    package var lacksRuntime = false

    /// - Throws: what is wrong with the files.
    init(_ files: SettingsBuilder) throws(ConfigurationError) {
        self.files = files
        var whole = files
        base = try whole.finish()
    }

    /// The same without tokens to begin with: see ``Loaded/withoutSeeds``.
    package var withoutSeeds: Layers {
        var layers = self
        layers.forgetsSeeds = true
        return layers
    }

    /// Files and runtime settings together.
    package struct Result: Sendable, Equatable {
        package let loaded: Loaded
        /// Runtime settings that are no good, or do not go with the rest: names, and why. None of them is in force.
        package let leftOut: [String: String]
    }

    /// Lays runtime settings over the files. Those that are no good are left out: no file of them may stop the daemon.
    ///
    /// - Parameters:
    ///   - runtime: by dotted name.
    ///   - approved: see ``Decision/approved``.
    ///   - suspects: those that give way first where some do not go together.
    package func loaded(
        with runtime: [String: SettingValue], approved: Set<String> = [], suspects: Set<String> = []
    ) -> Result {
        var kept = runtime
        var leftOut: [String: String] = [:]
        for (name, value) in runtime {
            guard let complaint = custodyComplaint(about: name, value, approved: approved) else { continue }
            leftOut[name] = complaint
            kept[name] = nil
        }
        while true {
            var whole = files
            for (name, message) in whole.add(runtime: kept) {
                leftOut[name] = message
                kept[name] = nil
            }
            do throws(ConfigurationError) {
                return Result(loaded: finished(try whole.finish(), leftOut), leftOut: leftOut)
            } catch {
                let named = whole.conflicts.filter { kept[$0] != nil }
                let culprits = named.isEmpty ? culprit(kept, suspects).map { [$0] } ?? [] : named
                // The files alone are good: there is somebody to blame as long as anything is kept.
                guard !culprits.isEmpty else {
                    return Result(loaded: finished(base, leftOut), leftOut: leftOut)
                }
                let own = Dictionary(error.problems.map { ($0.key, $0.message) }) { first, _ in first }
                for name in culprits {
                    leftOut[name] = own[name.escaped] ?? error.problems.first.map(Self.clash) ?? ""
                    kept[name] = nil
                }
            }
        }
    }

    private func finished(_ loaded: Loaded, _ leftOut: [String: String]) -> Loaded {
        var loaded = forgetsSeeds ? loaded.withoutSeeds : loaded
        if lacksRuntime { loaded = loaded.holdingRows }
        let mayHaveURL = lacksRuntime || leftOut["sync.url"] != nil
        return mayHaveURL && loaded.settings.sync == nil ? loaded.awaitingSync : loaded
    }

    private static func clash(_ problem: ConfigurationError.Problem) -> String {
        "does not go with the rest: \(problem)"
    }

    /// One without which the rest is good, else any.
    private func culprit(_ kept: [String: SettingValue], _ suspects: Set<String>) -> String? {
        let names = kept.keys.sorted { left, right in
            let (isLeft, isRight) = (suspects.contains(left), suspects.contains(right))
            return isLeft == isRight ? left > right : isLeft
        }
        let alone = names.first { name in
            var whole = files
            _ = whole.add(runtime: kept.filter { $0.key != name })
            return (try? whole.finish()) != nil
        }
        return alone ?? names.first
    }
}
