internal import Base
internal import Linux
internal import Storage
internal import Tracking

/// The odometer beside the database, and what may be said of it: nothing is told that a power cut could take back.
///
/// Confined to the reader's thread.
final class OdometerKeeper {
    /// Seconds until a failure to write the file is followed by another attempt.
    private static let patience = 10.0

    private let hub: Hub
    /// What the file said at the start.
    private var found: Odometer.Memory?
    private var retryAt: BootInstant?
    /// Metres since installation, as a row or the file has them for good; nil before the store has answered.
    private(set) var told: Int64?
    /// The daemon has decided whether fixes are read.
    var isRunning = false

    init(hub: Hub) {
        self.hub = hub
    }

    /// Reads the file. One that cannot be read is no reason not to track.
    func resume() {
        found = hub.content(
            of: hub.files.read(StoredOdometer.self).map(\.value),
            otherwise: "the database knows where it stood")
    }

    /// Where to go on.
    ///
    /// - Parameter row: what the newest location says.
    func begin(row: Odometer.Memory?) -> Odometer.Memory {
        let memory = Odometer.Memory.latest(row, found)
        told = memory.wholeMetres
        return memory
    }

    /// Tells the odometer what the file already says.
    func noteFile(in driving: inout Driving, now: BootInstant) {
        if let found { driving.keep(found, now: now) }
        found = nil
    }

    /// Locations have been stored. Those from before the odometer was set, which had to wait, do not count.
    func note(_ stored: [Location], in driving: Driving) {
        guard let present = driving.odometer?.memory.wholeMetres else { return }
        for mileage in stored.compactMap(\.mileage) where mileage <= present {
            told = max(told ?? 0, mileage)
        }
    }

    /// Writes the file if that is due.
    ///
    /// - Parameter isAtStop: the vehicle stands, or fixes are read no more.
    func keep(_ driving: inout Driving, isAtStop: Bool, now: BootInstant) {
        guard let memory = driving.odometer?.due(isAtStop: isAtStop, now: now),
            retryAt.map({ $0 <= now }) ?? true
        else { return }
        do {
            try write(memory)
            driving.keep(memory, now: now)
            told = max(told ?? 0, memory.wholeMetres)
            retryAt = nil
        } catch {
            retryAt = now.advanced(bySeconds: Self.patience)
            Log.debug(.storageFailed, "the odometer could not be kept beside the database: \(error)")
        }
    }

    /// Sets the odometer. Durable when it returns.
    func set(_ memory: Odometer.Memory) throws(CommandFailure) {
        do {
            try write(memory)
        } catch {
            throw CommandFailure(reason: "the odometer could not be written: \(error)")
        }
        told = memory.wholeMetres
    }

    private func write(_ memory: Odometer.Memory) throws(SystemError) {
        try hub.makingRoom { () throws(SystemError) in try hub.files.write(StoredOdometer(memory)) }
        hub.board.note(renewed: SmallFiles.Name.odometer)
    }
}
