internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Upload

/// Sends the daemon's own log to the server of one destination that has asked for it (`LogUpload`).
///
/// Confined to the uploader's thread.
final class LogSender {
    private let port: UploaderPort
    private let startedAt: BootInstant
    private let maker: ShipmentMaker
    private let report: UploadReport
    private let ended: (_ command: String, CommandOutcome, _ now: BootInstant) -> Void
    /// The log may be tried in this drain, once: what comes after it does not wait for it.
    private var mayTry = false
    private var isForced = false

    /// - Parameters:
    ///   - startedAt: when the daemon was started.
    ///   - ended: it has been sent, or is given up.
    init(
        port: UploaderPort, startedAt: BootInstant, maker: ShipmentMaker, report: UploadReport,
        ended: @escaping (_ command: String, CommandOutcome, _ now: BootInstant) -> Void
    ) {
        self.port = port
        self.startedAt = startedAt
        self.maker = maker
        self.report = report
        self.ended = ended
    }

    /// - Parameter isForced: the user asks for what is made next.
    func isDue(isForced: Bool, now: BootInstant) -> Bool {
        port.log.due.map { isForced || $0 <= now } ?? false
    }

    /// A drain begins.
    ///
    /// - Parameter isForced: the user asks for it, so nothing is put off.
    func begin(isForced: Bool) {
        (mayTry, self.isForced) = (true, isForced)
    }

    /// - Returns: nil when it is not wanted, or not yet.
    func next(_ sync: Settings.Sync, now: BootInstant) throws(StorageError) -> Shipment? {
        guard mayTry, isDue(isForced: isForced, now: now) else { return nil }
        mayTry = false
        guard sync.mqtt == nil, let lines = Log.kept() else {
            end(CommandError(.notAllowed, "no log is kept for it any more"), now: now)
            return nil
        }
        guard port.log.begin() else {
            end(CommandError(.failed, "the log did not get through"), now: now)
            return nil
        }
        let uptime = Int(now.seconds(since: startedAt))
        let head = "beekond \(Release.version), installation \(maker.installID), up \(uptime) s\n"
        return try maker.log(Array(head.utf8) + lines, at: port.log.path, now: now)
    }

    /// Settles the log, which has been answered.
    func settle(_ judgement: Judgement, now: BootInstant) {
        let isAccepted = judgement.verdict == .accepted
        report.logSent(judgement.status, isAccepted: isAccepted, at: port.log.path)
        if case .transient(let retryAfter) = judgement.verdict, port.log.postpone(by: retryAfter, now: now) {
            return
        }
        end(
            isAccepted ? nil : CommandError(.failed, "the server answers \(judgement.status) to the log"),
            now: now)
    }

    /// - Parameter error: why it was not sent; nil: it was.
    private func end(_ error: CommandError?, now: BootInstant) {
        guard let command = port.log.done() else { return }
        ended(command, CommandOutcome(error: error?.text), now)
    }
}
