internal import Base
internal import Glibc
internal import Linux
internal import Storage

/// Finds out whose state directory this is before anything else in it is touched, and makes it this machine's.
struct Identification {
    /// What was found out about the installation.
    struct Found {
        var id: String
        /// What was wrong with the files of the identity.
        var troubles: [SmallFiles.Trouble] = []
        /// There was a database at an earlier start.
        var hadDatabase = false
    }

    let directory: StateDirectory
    let files: SmallFiles
    let found: Installation.Signs
    let time: Timestamp
    private let random: RandomSource

    /// - Parameters:
    ///   - root: the directory used as / when identifying the machine.
    ///   - time: the current time by the best clock known.
    init(
        _ directory: StateDirectory, root: String, at time: Timestamp, random: RandomSource = RandomSource()
    ) {
        self.directory = directory
        files = SmallFiles(directory)
        found = Machine.signs(root: root)
        self.time = time
        self.random = random
    }

    /// The id of this installation: created once, and again when the machine is another one.
    func find() throws -> Found {
        let reading = files.read(StoredIdentity.self)
        var result = Found(id: "", troubles: reading.trouble.map { [$0] } ?? [])
        guard var known = reading.content else {
            // It may be intact, so it must not be overwritten.
            if let trouble = reading.trouble {
                if trouble.isPassing { throw SystemError(trouble.text, code: EIO) }
                Log.error(.fileDamaged, "\(trouble.text): the backend will take this for another vehicle")
            }
            result.id = mint().description
            try makingRoom { try files.write(StoredIdentity(installID: result.id, signs: found)) }
            Log.notice(.identity, "this installation has the install_id \(result.id), which is new")
            return result
        }
        if let trouble = reading.trouble { Log.error(.fileDamaged, trouble.text) }
        let signs = Installation.signs(of: known)
        if let plan = known.separation {
            if case .other = Installation.judge(plan.signs, found) {
                if Installation.isRecognised(signs, found) {
                    try makingRoom { try withdraw(plan, of: known) }
                    result.id = known.installID
                    return result
                }
                // It was copied again before it was completed.
                known.separation?.installID = mint().description
                known.separation?.session = mint().description
                known.separation?.signs = found
            }
        } else {
            switch Installation.judge(signs, found) {
            case .same(let signs):
                keep(known, signs)
                result.id = known.installID
                result.hadDatabase = known.hasDatabase == true
                return result
            case .other(let reason):
                Log.warning(
                    .identity,
                    "this is another machine than install_id \(known.installID) was made on, by \(reason)")
                known.separation = plan(&result)
            }
        }
        result.id = try makingRoom { try separate(known, &result) }
        return result
    }

    /// The store has been opened: from now on a database that is missing has been lost.
    func noteDatabase() {
        guard !DatabaseFiles(in: directory.path, on: directory.files).isMissing,
            var known = files.read(StoredIdentity.self).content,
            known.hasDatabase != true
        else { return }
        known.hasDatabase = true
        write(known)
    }

    func mint() -> UUIDv7 {
        var random = random
        var generator = UUIDv7Generator(using: &random)
        return generator.next(at: time)
    }

    /// More signs of the machine may have become readable.
    private func keep(_ known: StoredIdentity, _ signs: Installation.Signs) {
        let old = Installation.signs(of: known)[Installation.machineID]
        if let old, signs[Installation.machineID] != old {
            Log.notice(
                .identity,
                "/etc/machine-id has changed, and the serial number of the hardware has not: this is still "
                    + "install_id \(known.installID)")
        }
        var identity = StoredIdentity(installID: known.installID, signs: signs)
        identity.hasDatabase = known.hasDatabase
        if identity != known { write(identity) }
    }

    /// A failing disk is no reason not to start.
    private func write(_ identity: StoredIdentity) {
        do {
            try files.write(identity)
        } catch {
            Log.debug(.identity, "the identity could not be written: \(error)")
        }
    }

    /// The reserve for a full disk is used for this, too.
    private func makingRoom<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SystemError where error.code == ENOSPC {
            try directory.remove("ballast")
            return try body()
        }
    }
}
