internal import Base
internal import Glibc
internal import Linux
internal import Storage
internal import Upload

/// Finds out whose state directory this is before anything else in it is touched, and makes it this machine's.
struct Identification {
    private let directory: StateDirectory
    private let files: SmallFiles
    private let found: Installation.Signs
    private let time: Timestamp

    /// - Parameters:
    ///   - root: the directory used as / when identifying the machine.
    ///   - time: the current time by the best clock known.
    init(_ directory: StateDirectory, root: String, at time: Timestamp) {
        self.directory = directory
        files = SmallFiles(directory)
        found = Machine.signs(root: root)
        self.time = time
    }

    /// The id of this installation: created once, and again when the machine is another one.
    ///
    /// - Returns: also what was wrong with its file.
    func installID() throws -> (id: String, trouble: SmallFiles.Trouble?) {
        let reading = files.readIdentity()
        let trouble = reading.trouble
        guard var known = reading.content else {
            // It may be intact, so it must not be overwritten.
            if let trouble, trouble.isPassing { throw SystemError(trouble.text, code: EIO) }
            if let trouble {
                Log.error(.fileDamaged, "\(trouble.text): the backend will take this for another vehicle")
            }
            let id = mint().description
            try makingRoom { try files.write(SmallFiles.Identity(installID: id, signs: found)) }
            Log.notice(.identity, "this installation has the install_id \(id), which is new")
            return (id, trouble)
        }
        if let trouble { Log.error(.fileDamaged, trouble.text) }
        if known.separation == nil {
            switch Installation.judge(Installation.signs(of: known), found) {
            case .same(let signs):
                let old = Installation.signs(of: known)[Installation.machineID]
                if let old, signs[Installation.machineID] != old {
                    Log.notice(
                        .identity,
                        "/etc/machine-id has changed, and the serial number of the hardware has not: this is still "
                            + "install_id \(known.installID)")
                }
                keep(known, signs)
                return (known.installID, trouble)
            case .other(let reason):
                Log.warning(
                    .identity,
                    "this is another machine than install_id \(known.installID) was made on, by \(reason)")
                let ids = (mint().description, mint())
                known.separation = SmallFiles.Separation(
                    installID: ids.0, signs: found, database: Store.foreignName(in: directory.path, at: time),
                    session: ids.1, startedAt: time)
            }
        } else if case .other? = known.separation.map({ Installation.judge($0.signs, found) }) {
            // It was copied again before it was completed.
            known.separation?.installID = mint().description
            known.separation?.session = mint().description
            known.separation?.signs = found
        }
        return (try makingRoom { try separate(known) }, trouble)
    }

    private func mint() -> UUIDv7 {
        var random = SystemRandomNumberGenerator()
        var generator = UUIDv7Generator(using: &random)
        return generator.next(at: time)
    }

    /// More signs of the machine may have become readable. A failing disk is no reason not to start.
    private func keep(_ known: SmallFiles.Identity, _ signs: Installation.Signs) {
        let identity = SmallFiles.Identity(installID: known.installID, signs: signs)
        guard identity != known else { return }
        do {
            try files.write(identity)
        } catch {
            Log.debug(.identity, "the signs of this machine could not be written: \(error)")
        }
    }

    /// The identity first records that this has begun and finally that it is done; every step between may be
    /// repeated.
    private func separate(_ marked: SmallFiles.Identity) throws -> String {
        guard let plan = marked.separation, let session = UUIDv7(plan.session) else {
            return marked.installID
        }
        try files.write(marked)
        let tracks = try takeIntentAlong(plan, session)
        let hasRows = try Store.putAsideForeign(in: directory.path, as: plan.database)
        for name in try directory.names() where TokenStore.holdsSecrets(name) { try directory.remove(name) }
        // Where the other machine was.
        try directory.remove(SmallFiles.Name.inside)
        try directory.synchronise()
        let rows =
            hasRows
            ? "The locations of the other one are kept as \(directory.file(plan.database)) and are never uploaded from here; "
                + "remove the file once that machine has uploaded them. " : ""
        let goesOn = tracks ? ", and tracking goes on in session \(plan.session)" : ""
        Log.warning(
            .identity,
            "this machine has the install_id \(plan.installID) now. \(rows)Its tokens were dropped\(goesOn)")
        try files.write(SmallFiles.Identity(installID: plan.installID, signs: plan.signs))
        return plan.installID
    }

    /// The intent applies to the copy as well, in a session of its own.
    private func takeIntentAlong(_ plan: SmallFiles.Separation, _ session: UUIDv7) throws(SystemError) -> Bool
    {
        let reading = files.readIntent()
        let before = reading.content
        if let trouble = reading.trouble { Log.error(.fileDamaged, trouble.text) }
        if before?.session == session { return before?.state == .tracking }
        let wasTracking = ["beekon.db", plan.database].contains {
            Store.wasTracking(database: directory.file($0))
        }
        guard let state = before?.state ?? (wasTracking ? .tracking : nil) else { return false }
        // It may be intact, so it must not be overwritten.
        if reading.trouble?.isPassing == true { return state == .tracking }
        try files.write(
            SmallFiles.Intent(
                state: state, session: session, startedAt: Timestamp(milliseconds: plan.startedAt)))
        return state == .tracking
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
