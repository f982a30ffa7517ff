internal import Base
internal import Glibc
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// A copy becomes an installation of its own.
extension Identification {
    private var databases: DatabaseFiles { DatabaseFiles(in: directory.path, on: directory.files) }

    func plan(_ result: inout Found) -> Separation {
        let (id, session) = (mint().description, mint())
        return Separation(
            installID: id, signs: found,
            database: databases.foreignName(at: time),
            session: session, startedAt: time, intent: intent(&result))
    }

    /// The identity first records that this has begun and finally that it is done; every step between may be
    /// repeated.
    func separate(_ marked: StoredIdentity, _ result: inout Found) throws -> String {
        guard let plan = marked.separation, let session = UUIDv7(plan.session) else {
            return marked.installID
        }
        try files.write(marked)
        let former = StoredIdentity(installID: marked.installID, signs: Installation.signs(of: marked))
        try files.write(foreign: former, beside: plan.database)
        // All of it, before it is asked for anything: without its WAL it would get a new one.
        let hasRows = try databases.moveAside(as: plan.database)
        let tracks = try takeIntentAlong(plan, session, &result)
        for name in try directory.names() where TokenStore.holdsSecrets(name) { try directory.remove(name) }
        // Where the other machine was, and how far it has driven. Durably, with the tokens.
        try directory.remove(SmallFiles.Name.inside)
        try files.remove(StoredOdometer.self)
        let goesOn = tracks ? ", and tracking goes on in session \(plan.session)" : ""
        Log.warning(
            .identity,
            "this machine has the install_id \(plan.installID) now. Its tokens were dropped\(goesOn)."
                + (hasRows ? account(of: marked.installID, plan.database) : ""))
        try files.write(StoredIdentity(installID: plan.installID, signs: plan.signs))
        return plan.installID
    }

    /// What was inherited, and what can be done with it.
    private func account(of installID: String, _ name: String) -> String {
        let (path, own) = (directory.file(name), directory.file("beekon.db"))
        return " The database of install_id \(installID) is kept as \(path): "
            + "\(databases.account(of: name)), and nothing of it is uploaded from here. If this is the same machine after all (with another board, say): when "
            + "\"beekonctl sync\" has emptied the present one, stop beekond, move \(path) and \(path)-wal to \(own) and "
            + "\(own)-wal, in place of those, and start it; they are uploaded under the new install_id. If not: remove "
            + "\(path)* once that machine has uploaded them"
    }

    /// The disk is back in its machine before the separation was completed: what was done so far is undone, except for
    /// tokens, which may be gone.
    func withdraw(_ plan: Separation, of known: StoredIdentity) throws {
        try databases.takeBack(plan.database)
        let aside = SmallFiles.foreignName(beside: plan.database)
        for name in [aside, aside + ".tmp"] { try directory.remove(name) }
        if let intent = plan.intent, files.read(StoredIntent.self).content?.sessionID == plan.session {
            try files.write(intent)
        }
        try directory.synchronise()
        let signs = Installation.signs(of: known).merging(found) { $1 }
        try files.write(StoredIdentity(installID: known.installID, signs: signs))
        Log.warning(
            .identity,
            "this is the machine again that install_id \(known.installID) was made on: it keeps that, and its database. "
                + "If it used tokens, they may be gone: beekonctl auth show tells, beekonctl auth seed gives new ones"
        )
    }

    /// The intent applies to the copy as well, in a session of its own.
    private func takeIntentAlong(
        _ plan: Separation, _ session: UUIDv7, _ result: inout Found
    ) throws(SystemError) -> Bool {
        let before = intent(&result)
        if before?.session == session { return before?.state == .tracking }
        let known = (before ?? plan.intent)?.state
        guard
            let state = known
                ?? (databases.wasTracking(in: plan.database) ? .tracking : nil)
        else { return false }
        // It may be intact, so it must not be overwritten.
        if result.troubles.contains(where: { $0.name == SmallFiles.Name.intent && $0.isPassing }) {
            return state == .tracking
        }
        try files.write(
            StoredIntent(
                state: state, session: session, startedAt: Timestamp(milliseconds: plan.startedAt)))
        return state == .tracking
    }

    private func intent(_ result: inout Found) -> StoredIntent? {
        let reading = files.read(StoredIntent.self)
        if let trouble = reading.trouble, !result.troubles.contains(where: { $0.name == trouble.name }) {
            Log.error(.fileDamaged, trouble.text)
            result.troubles.append(trouble)
        }
        return reading.content
    }
}
