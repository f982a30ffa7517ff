internal import Base
internal import Glibc
internal import Linux
internal import Tracking

extension Source {
    mutating func readReports(
        lastHeard: BootInstant, askedAt: BootInstant?, now: BootInstant, _ events: inout [Event]
    ) throws(SystemError) {
        var reports: [Report] = []
        let count: Int
        do {
            count = try socket?.read(with: &parser, into: &reports) ?? 0
        } catch {
            process(reports, now: now, &events)
            throw error
        }
        process(reports, now: now, &events)
        close(epochs.expire(now: now), now: now, &events)
        if count > 0 {
            state = .watching(lastHeard: now, askedAt: nil)
        } else if let askedAt {
            if now.seconds(since: askedAt) >= Self.answerTimeout {
                throw SystemError(
                    "gpsd has said nothing for \(Int(Self.silence + Self.answerTimeout)) s", code: ETIMEDOUT)
            }
        } else if now.seconds(since: lastHeard) >= Self.silence {
            try socket?.send("?VERSION;\n")
            state = .watching(lastHeard: lastHeard, askedAt: now)
        }
    }

    private mutating func process(_ reports: [Report], now: BootInstant, _ events: inout [Event]) {
        var closed: [TPV] = []
        for report in reports {
            switch report {
            case .version: backOff.reset()
            case .devices(let paths): devices = paths
            case .device(let path, let isActive): updatePresence(path, isActive: isActive)
            case .sky(let device, let used, let visible):
                guard isUsed(device), device.isEmpty || facts.device == nil || facts.device == device else {
                    continue
                }
                facts.satellitesUsed = used
                facts.satellitesVisible = visible
            case .tpv(let tpv):
                guard isUsed(tpv.device) else { continue }
                updatePresence(tpv.device, isActive: true)
                if facts.device == nil || facts.device == tpv.device, tpv.mode < 2 { facts.mode = tpv.mode }
                closed.removeAll(keepingCapacity: true)
                epochs.add(tpv, now: now, into: &closed)
                close(closed, now: now, &events)
            case .other: break
            }
        }
    }

    /// Whether the device is used: when one is pinned, only that one is.
    private func isUsed(_ device: String) -> Bool {
        pinned.isEmpty || device.isEmpty || device == pinned
    }

    /// Tracks which receivers are present. One that sends reports is, whatever gpsd's device list says.
    private mutating func updatePresence(_ device: String, isActive: Bool) {
        var known = devices ?? []
        if let index = known.firstIndex(of: device) {
            if isActive { return }
            known.remove(at: index)
        } else if isActive, known.count < Self.deviceLimit {
            known.append(device)
        }
        devices = known
        if !isActive, device == facts.device { facts.mode = 0 }
    }

    /// Turns closed epochs into events and decides which receiver to use: the current one keeps its place until it
    /// has delivered no fix for 10 s.
    mutating func close(_ closed: [TPV], now: BootInstant, _ events: inout [Event]) {
        for epoch in closed {
            guard let fix = epoch.fix else {
                if facts.device == nil || facts.device == epoch.device { events.append(.noFix) }
                continue
            }
            if let current = facts.device, current != fix.device {
                if let lastFix, now.seconds(since: lastFix) < Self.staleness { continue }
                events.append(.deviceChanged(fix.device))
            }
            facts.device = fix.device
            facts.mode = fix.mode
            facts.fixes += 1
            lastFix = now
            events.append(.fix(fix))
        }
    }
}
